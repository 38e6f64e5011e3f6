//! Tracing (OpenTelemetry): the export target of a server, from the OTEL variables, and the parent trace of a
//! command.

use crate::exit::{Failure, Result};
use sayso_core::Code;
use sayso_server::http::TraceCollector;

/// The parent trace of this command, from the process that started it.
pub(crate) fn parent() -> Option<String> {
    std::env::var("TRACEPARENT").ok()
}

/// The export target of traces; none unless a variable names it.
pub(crate) fn traces() -> Result<Option<TraceCollector>> {
    read(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
}

fn read(of: impl Fn(&str) -> Option<String>) -> Result<Option<TraceCollector>> {
    let is_off = of("OTEL_SDK_DISABLED").is_some_and(|value| value == "true")
        || of("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
    let base = || {
        let base = of("OTEL_EXPORTER_OTLP_ENDPOINT")?;
        Some(format!("{}/v1/traces", base.trim_end_matches('/')))
    };
    let url = of("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or_else(base);
    let Some(url) = url.filter(|_| !is_off) else { return Ok(None) };
    if !url.starts_with("http://") && !url.starts_with("https://") {
        let message = "OTEL_EXPORTER_OTLP_ENDPOINT is no address of a collector";
        return Err(Failure::new(Code::BadConfig, message)
            .hint("write it as http://127.0.0.1:4318; traces go over HTTP, not gRPC"));
    }
    let headers = of("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
        .or_else(|| of("OTEL_EXPORTER_OTLP_HEADERS"))
        .unwrap_or_default();
    let pair = |text: &str| {
        let (name, value) = text.split_once('=')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    };
    let headers = headers.split(',').filter_map(pair).collect();
    let service = of("OTEL_SERVICE_NAME").unwrap_or_else(|| "sayso".into());
    Ok(Some(TraceCollector { url, headers, service }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_the_variables_say() {
        let with = |set: &[(&str, &str)]| {
            let set: Vec<_> = set.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            read(move |name| set.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone()))
        };
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");
        assert_eq!(with(&[]).unwrap(), None);
        assert_eq!(with(&[base]).unwrap().unwrap().url, "http://c:4318/v1/traces");
        let whole = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c/x");
        assert_eq!(with(&[base, whole]).unwrap().unwrap().url, "https://c/x");
        let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "a=1, b = 2=3");
        let headers = with(&[base, headers]).unwrap().unwrap().headers;
        assert_eq!(headers, [("a".into(), "1".into()), ("b".into(), "2=3".into())]);
        assert_eq!(with(&[base, ("OTEL_TRACES_EXPORTER", "none")]).unwrap(), None);
        assert!(with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4317")]).is_err());
    }
}
