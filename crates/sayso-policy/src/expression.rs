//! Conditions in CEL. The only file that knows the library behind them.

use crate::mistake::nearest;
use crate::view::View;
use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};
use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString,
};
use cel::common::value::Val;
use cel::{Context, Env, Program, Value};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, OnceLock};

/// The longest expression.
pub(crate) const BYTES_MAX: usize = 4 * 1024;
/// How deep an expression may nest, and lists in lists may be walked.
const DEPTH_MAX: usize = 48;
const WALKS_MAX: usize = 2;
/// The longest list, and the most values, an expression is shown.
const ITEMS_MAX: usize = 1_000;
const VALUES_MAX: usize = 10_000;

/// Everything an expression can name, with its fields.
pub(crate) const VARIABLES: &[(&str, &[&str])] = &[
    ("agent", &["name", "role", "launcher"]),
    ("task", &["handle", "labels", "priority", "type", "status", "parent_labels"]),
    ("tool", &["name", "args", "command", "clear", "commands", "paths", "writes"]),
    ("transition", &["from", "to"]),
    ("lifecycle", &["action", "target"]),
    ("result", &["outcome", "confidence"]),
    ("ask", &["kind", "question"]),
    ("time", &["hour", "minute", "weekday", "date", "zone"]),
    ("history", &["hour", "day"]),
];

/// What can be called. Macros (`has`, `all`, `exists`, `exists_one`, `map`, `filter`) are gone by
/// the time this list is consulted.
const FUNCTIONS: &[&str] = &[
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "int",
    "uint",
    "double",
    "string",
    "bool",
    "type",
    "dyn",
];

static ENVIRONMENT: LazyLock<Arc<Env>> =
    LazyLock::new(|| Arc::new(Env::stdlib().with_optional_support(false)));

/// A condition, compiled when it is first needed.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(crate) text: String,
    program: OnceLock<Result<Compiled, String>>,
}

#[derive(Debug)]
struct Compiled {
    program: Program,
    /// The variables it names, by their place in the list.
    needs: Vec<usize>,
}

impl Expression {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.into(), program: OnceLock::new() }
    }

    fn compiled(&self) -> Result<&Compiled, String> {
        let compiled = self.program.get_or_init(|| {
            if self.text.len() > BYTES_MAX {
                return Err(format!("is longer than {BYTES_MAX} bytes"));
            }
            if is_nested_too_deeply(&self.text) {
                return Err("is nested too deeply".into());
            }
            let program = ENVIRONMENT.compile(&self.text).map_err(|errors| {
                let first = errors.errors.first().map(|e| e.msg.replace('\n', " "));
                // What could have stood there instead is a list of the grammar's own names.
                let said = first.unwrap_or_default();
                format!("cannot be read: {}", said.split(" expecting ").next().unwrap_or(&said))
            })?;
            let mut depth = Depth::default();
            depth.measure(program.expression(), 0, 0);
            match depth {
                Depth { nested, .. } if nested > DEPTH_MAX => Err("is nested too deeply".into()),
                Depth { walks, .. } if walks > WALKS_MAX => {
                    Err("walks through lists in lists in lists".into())
                }
                Depth { .. } => {
                    let named = program.references();
                    let needs = (0..VARIABLES.len())
                        .filter(|at| named.has_variable(VARIABLES[*at].0))
                        .collect();
                    drop(named);
                    Ok(Compiled { program, needs })
                }
            }
        });
        compiled.as_ref().map_err(Clone::clone)
    }

    /// Everything that can be said against it without running it: what, and what to do.
    pub(crate) fn check(&self) -> Vec<(String, String)> {
        let program = match self.compiled() {
            Ok(compiled) => &compiled.program,
            Err(why) => {
                return vec![(format!("the condition {why}"), "mend or shorten it".into())];
            }
        };
        let mut names = Names::default();
        names.collect(program.expression(), &mut vec![]);
        let mut found = vec![];
        for variable in &names.unknown {
            let all = VARIABLES.iter().map(|(name, _)| *name);
            let fix = match nearest(variable, all.clone()) {
                Some(name) => format!("write `{name}`"),
                None => format!("the variables are {}", all.collect::<Vec<_>>().join(", ")),
            };
            found.push((format!("the condition names `{variable}`, which is not there"), fix));
        }
        for (variable, field) in &names.fields {
            let Some((_, fields)) = VARIABLES.iter().find(|(name, _)| name == variable) else {
                continue;
            };
            if !fields.contains(&field.as_str()) {
                let fix = match nearest(field, fields.iter().copied()) {
                    Some(name) => format!("write `{variable}.{name}`"),
                    None => format!("`{variable}` has {}", fields.join(", ")),
                };
                found.push((
                    format!("the condition names `{variable}.{field}`, which is not there"),
                    fix,
                ));
            }
        }
        for function in &names.functions {
            if function.starts_with(|c: char| c.is_ascii_alphabetic())
                && !FUNCTIONS.contains(&function.as_str())
            {
                let fix = match nearest(function, FUNCTIONS.iter().copied()) {
                    Some(name) => format!("write `{name}`"),
                    None => format!("the functions are {}", FUNCTIONS.join(", ")),
                };
                found.push((format!("the condition calls `{function}`, which is not there"), fix));
            }
        }
        if let Expr::Literal(literal) = &program.expression().expr {
            let is_never = !matches!(literal, LiteralValue::Boolean(value) if *value.inner());
            if is_never {
                let fix = "drop the rule, or write a condition that can be true";
                found.push(("the condition is never true".into(), fix.into()));
            }
        }
        found
    }

    /// Whether it holds, or why that cannot be said.
    pub(crate) fn holds(&self, view: &View<'_>) -> Result<bool, String> {
        let Compiled { program, needs } = self.compiled()?;
        let mut facts = view.facts.borrow_mut();
        match program.execute(facts.with(needs, view)?) {
            Ok(Value::Bool(holds)) => Ok(holds),
            Ok(_) => Err("is neither true nor false".into()),
            Err(error) => {
                let said = error.to_string();
                Err(said.chars().take(200).collect())
            }
        }
    }
}

/// Brackets and signs in a row are counted before anything recursive sees them.
fn is_nested_too_deeply(text: &str) -> bool {
    let (mut depth, mut signs) = (0usize, 0usize);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'!' | b'-' | b'?' => signs += 1,
            b' ' => continue,
            _ => signs = 0,
        }
        if depth > DEPTH_MAX || signs > DEPTH_MAX {
            return true;
        }
    }
    false
}

#[derive(Default)]
struct Depth {
    nested: usize,
    walks: usize,
}

impl Depth {
    fn measure(&mut self, expression: &IdedExpr, nested: usize, walks: usize) {
        self.nested = self.nested.max(nested);
        self.walks = self.walks.max(walks);
        if nested > DEPTH_MAX {
            return;
        }
        let is_walk = matches!(&expression.expr, Expr::Comprehension(_));
        let walks = walks + usize::from(is_walk);
        self.walks = self.walks.max(walks);
        for part in parts(&expression.expr) {
            self.measure(part, nested + 1, walks);
        }
    }
}

/// The expressions an expression is made of.
fn parts(expression: &Expr) -> Vec<&IdedExpr> {
    match expression {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => vec![],
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(walk) => {
            vec![&walk.iter_range, &walk.accu_init, &walk.loop_cond, &walk.loop_step, &walk.result]
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Map(map) => map.entries.iter().flat_map(|e| entry_parts(&e.expr)).collect(),
        Expr::Struct(object) => object.entries.iter().flat_map(|e| entry_parts(&e.expr)).collect(),
    }
}

fn entry_parts(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

/// What an expression names.
#[derive(Default)]
struct Names {
    unknown: BTreeSet<String>,
    fields: BTreeSet<(String, String)>,
    functions: BTreeSet<String>,
}

impl Names {
    /// `bound` are the names that the walks around it gave.
    fn collect<'a>(&mut self, expression: &'a IdedExpr, bound: &mut Vec<&'a str>) {
        match &expression.expr {
            Expr::Ident(name) => {
                let is_known = bound.contains(&name.as_str())
                    || name.starts_with('@')
                    || VARIABLES.iter().any(|(known, _)| known == name)
                    || TYPES.contains(&name.as_str());
                if !is_known {
                    self.unknown.insert(name.clone());
                }
            }
            Expr::Select(select) => {
                if let Expr::Ident(name) = &select.operand.expr
                    && !bound.contains(&name.as_str())
                {
                    self.fields.insert((name.clone(), select.field.clone()));
                }
                self.collect(&select.operand, bound);
            }
            Expr::Comprehension(walk) => {
                self.collect(&walk.iter_range, bound);
                let before = bound.len();
                bound.extend([walk.iter_var.as_str(), walk.accu_var.as_str()]);
                bound.extend(walk.iter_var2.as_deref());
                for part in [&walk.accu_init, &walk.loop_cond, &walk.loop_step, &walk.result] {
                    self.collect(part, bound);
                }
                bound.truncate(before);
            }
            Expr::Struct(object) => {
                self.functions.insert(object.type_name.clone());
                for part in parts(&expression.expr) {
                    self.collect(part, bound);
                }
            }
            Expr::Call(call) => {
                self.functions.insert(call.func_name.clone());
                for part in parts(&expression.expr) {
                    self.collect(part, bound);
                }
            }
            Expr::Unspecified | Expr::Literal(_) | Expr::List(_) | Expr::Map(_) => {
                for part in parts(&expression.expr) {
                    self.collect(part, bound);
                }
            }
        }
    }
}

/// Names of types, for `type(x) == string`.
const TYPES: &[&str] =
    &["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// What conditions see of a request; each variable is made when the first condition names it.
#[derive(Default)]
pub(crate) struct Facts {
    context: Option<Context<'static, 'static>>,
    is_there: [bool; VARIABLES.len()],
}

impl Facts {
    /// The context with these variables in it.
    fn with(
        &mut self,
        needs: &[usize],
        view: &View<'_>,
    ) -> Result<&Context<'static, 'static>, String> {
        let context =
            self.context.get_or_insert_with(|| Context::with_env(Arc::clone(&ENVIRONMENT)));
        for at in needs.iter().copied() {
            if self.is_there[at] {
                continue;
            }
            let name = VARIABLES[at].0;
            let mut left = VALUES_MAX;
            let value = value(view.fact(name), &mut left)?;
            context.add_variable_as_val(name, value);
            self.is_there[at] = true;
        }
        Ok(context)
    }
}

/// A value for the expression; what is too big to be walked in a moment is refused.
fn value(json: serde_json::Value, left: &mut usize) -> Result<Box<dyn Val>, String> {
    *left = left.checked_sub(1).ok_or("the request is too big for a condition")?;
    Ok(match json {
        serde_json::Value::Null => Box::new(CelNull),
        serde_json::Value::Bool(value) => Box::new(CelBool::from(value)),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Box::new(CelInt::from(whole)),
            (None, Some(real)) => Box::new(CelDouble::from(real)),
            (None, None) => Box::new(CelNull),
        },
        serde_json::Value::String(text) => Box::new(CelString::from(text)),
        serde_json::Value::Array(items) if items.len() > ITEMS_MAX => {
            return Err("a list is too long for a condition".into());
        }
        serde_json::Value::Array(items) => {
            let items: Result<Vec<_>, _> = items.into_iter().map(|item| value(item, left)).collect();
            Box::new(CelList::from(items?))
        }
        serde_json::Value::Object(fields) => {
            let mut map = HashMap::with_capacity(fields.len());
            for (key, field) in fields {
                map.insert(CelMapKey::from(key), value(field, left)?);
            }
            Box::new(CelMap::from(map))
        }
    })
}
