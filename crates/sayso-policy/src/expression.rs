//! Conditions in CEL, with limits on size, depth and values. Apart from `formula.rs` the only file that knows the CEL
//! library.

use crate::diagnostic::nearest;
use crate::view::RequestView;
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
/// The deepest nesting of an expression, and of loops over lists.
const DEPTH_MAX: usize = 48;
const WALKS_MAX: usize = 2;
/// The longest list, and the most values, that an expression gets.
const ITEMS_MAX: usize = 1_000;
pub(crate) const VALUES_MAX: usize = 10_000;

/// The variables of an expression, with their fields.
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

/// The fields of fields that have some.
const COUNTS: &[(&str, &[&str])] = &[
    ("history.hour", &["asked", "approved", "denied"]),
    ("history.day", &["asked", "approved", "denied"]),
];

/// The functions of an expression. Macros (`has`, `all`, `exists`, `exists_one`, `map`, `filter`) are expanded before
/// this list is checked.
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

pub(crate) static ENVIRONMENT: LazyLock<Arc<Env>> =
    LazyLock::new(|| Arc::new(Env::stdlib().with_optional_support(false)));

/// A condition, compiled when it is first needed.
#[derive(Debug)]
pub(crate) struct CelCondition {
    pub(crate) text: String,
    program: OnceLock<Result<CompiledCondition, String>>,
}

#[derive(Debug)]
struct CompiledCondition {
    program: Program,
    /// The indexes of the variables it names.
    needs: Vec<usize>,
}

impl CelCondition {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.into(), program: OnceLock::new() }
    }

    fn compiled(&self) -> Result<&CompiledCondition, String> {
        let compiled = self.program.get_or_init(|| {
            let program = compile(&self.text).map_err(|unread| unread.why)?;
            let named = program.references();
            let needs =
                (0..VARIABLES.len()).filter(|at| named.has_variable(VARIABLES[*at].0)).collect();
            drop(named);
            Ok(CompiledCondition { program, needs })
        });
        compiled.as_ref().map_err(Clone::clone)
    }

    /// Returns all mistakes that show without running it: the problem and the fix.
    pub(crate) fn check(&self) -> Vec<(String, String)> {
        let program = match self.compiled() {
            Ok(compiled) => &compiled.program,
            Err(why) => {
                return vec![(format!("the condition {why}"), "mend or shorten it".into())];
            }
        };
        let names = ExpressionNames::of(program);
        let mut found = vec![];
        let all = VARIABLES.iter().map(|(name, _)| *name);
        for variable in names.unknown(all.clone()) {
            let fix = match nearest(variable, all.clone()) {
                Some(name) => format!("write `{name}`"),
                None => format!("the variables are {}", all.clone().collect::<Vec<_>>().join(", ")),
            };
            found.push((format!("the condition names `{variable}`, which is not there"), fix));
        }
        for (variable, field) in &names.fields {
            let known = VARIABLES.iter().chain(COUNTS).find(|(name, _)| name == variable);
            let Some((_, fields)) = known else { continue };
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
        for (function, fix) in names.unknown_functions() {
            found.push((format!("the condition calls `{function}`, which is not there"), fix));
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

    /// Evaluates the condition, or returns the reason why it cannot.
    pub(crate) fn holds(&self, view: &RequestView<'_>) -> Result<bool, String> {
        let CompiledCondition { program, needs } = self.compiled()?;
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

/// The error of a text that is not a valid expression.
pub(crate) struct CompileError {
    pub(crate) why: String,
    /// The column, counted from 1.
    pub(crate) column: Option<usize>,
}

/// Compiles an expression, unless it is too long or nested too deeply to be evaluated quickly.
pub(crate) fn compile(text: &str) -> Result<Program, CompileError> {
    let unread = |why: &str| CompileError { why: why.into(), column: None };
    if text.len() > BYTES_MAX {
        return Err(unread(&format!("is longer than {BYTES_MAX} bytes")));
    }
    if is_nested_too_deeply(text) {
        return Err(unread("is nested too deeply"));
    }
    let program = ENVIRONMENT.compile(text).map_err(|errors| {
        let first = errors.errors.first();
        // The rest of the message lists names of the grammar, which do not help people.
        let said = first.map(|e| e.msg.replace('\n', " ")).unwrap_or_default();
        let why = format!("cannot be read: {}", said.split(" expecting ").next().unwrap_or(&said));
        let column = first.and_then(|e| usize::try_from(e.pos.1).ok()).filter(|at| *at > 0);
        CompileError { why, column }
    })?;
    let mut depth = ExpressionDepth::default();
    depth.measure(program.expression(), 0, 0);
    match depth {
        ExpressionDepth { nested, .. } if nested > DEPTH_MAX => Err(unread("is nested too deeply")),
        ExpressionDepth { walks, .. } if walks > WALKS_MAX => {
            Err(unread("walks through lists in lists in lists"))
        }
        ExpressionDepth { .. } => Ok(program),
    }
}

/// True if the brackets or signs exceed the depth; checked before any recursive code sees them.
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
struct ExpressionDepth {
    nested: usize,
    walks: usize,
}

impl ExpressionDepth {
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

/// The names that an expression uses.
#[derive(Debug, Default)]
pub(crate) struct ExpressionNames {
    /// The variables, known or not.
    pub(crate) variables: BTreeSet<String>,
    /// Fields of variables, and fields of those as in `history.day`.
    pub(crate) fields: BTreeSet<(String, String)>,
    functions: BTreeSet<String>,
}

impl ExpressionNames {
    pub(crate) fn of(program: &Program) -> Self {
        let mut names = Self::default();
        names.collect(program.expression(), &mut vec![]);
        names
    }

    /// Returns the variables that are not known.
    fn unknown<'a>(&self, known: impl Iterator<Item = &'a str> + Clone) -> Vec<&str> {
        let is_known = |name: &str| known.clone().any(|known| known == name);
        self.variables.iter().map(String::as_str).filter(|name| !is_known(name)).collect()
    }

    /// Returns the unknown functions, each with a fix.
    pub(crate) fn unknown_functions(&self) -> Vec<(&str, String)> {
        let is_word = |name: &str| name.starts_with(|c: char| c.is_ascii_alphabetic());
        let functions = self.functions.iter().map(String::as_str);
        let unknown = functions.filter(|name| is_word(name) && !FUNCTIONS.contains(name));
        let fix = |name: &str| match nearest(name, FUNCTIONS.iter().copied()) {
            Some(name) => format!("write `{name}`"),
            None => format!("the functions are {}", FUNCTIONS.join(", ")),
        };
        unknown.map(|name| (name, fix(name))).collect()
    }

    /// Collects names; `bound` are those that surrounding macros define.
    fn collect<'a>(&mut self, expression: &'a IdedExpr, bound: &mut Vec<&'a str>) {
        match &expression.expr {
            Expr::Ident(name) => {
                let is_ours = bound.contains(&name.as_str())
                    || name.starts_with('@')
                    || TYPES.contains(&name.as_str());
                if !is_ours {
                    self.variables.insert(name.clone());
                }
            }
            Expr::Select(select) => {
                match &select.operand.expr {
                    Expr::Ident(name) if !bound.contains(&name.as_str()) => {
                        self.fields.insert((name.clone(), select.field.clone()));
                    }
                    Expr::Select(outer) => {
                        if let Some(name) = variable(&outer.operand, bound) {
                            let name = format!("{name}.{}", outer.field);
                            self.fields.insert((name, select.field.clone()));
                        }
                    }
                    _ => {}
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

/// Returns the variable that an expression is, unless a macro defines it.
fn variable<'a>(expression: &'a IdedExpr, bound: &[&str]) -> Option<&'a str> {
    match &expression.expr {
        Expr::Ident(name) if !bound.contains(&name.as_str()) => Some(name),
        _ => None,
    }
}

/// Names of types, for `type(x) == string`.
const TYPES: &[&str] =
    &["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// A value for conditions, borrowed from the request where possible.
pub(crate) enum ConditionValue<'a> {
    Text(&'a str),
    Owned(String),
    Whole(i64),
    Truth(bool),
    List(Vec<ConditionValue<'a>>),
    Map(Vec<(&'static str, ConditionValue<'a>)>),
    Json(&'a serde_json::Value),
}

impl<'a> ConditionValue<'a> {
    pub(crate) fn texts(texts: &'a [String]) -> Self {
        ConditionValue::List(texts.iter().map(|text| ConditionValue::Text(text)).collect())
    }
}

/// The variables of conditions for one request; each is built when the first condition names it.
#[derive(Default)]
pub(crate) struct ConditionContext<'a> {
    context: Option<Context<'a, 'a>>,
    is_there: [bool; VARIABLES.len()],
}

impl<'a> ConditionContext<'a> {
    /// Returns the context with these variables in it.
    fn with(
        &mut self,
        needs: &[usize],
        view: &RequestView<'a>,
    ) -> Result<&Context<'a, 'a>, String> {
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

/// Builds a CEL value; one that is too big to be evaluated quickly is refused.
fn value<'a>(fact: ConditionValue<'a>, left: &mut usize) -> Result<Box<dyn Val + 'a>, String> {
    *left = left.checked_sub(1).ok_or(TOO_BIG)?;
    Ok(match fact {
        ConditionValue::Text(text) => Box::new(CelString::from(text)),
        ConditionValue::Owned(text) => Box::new(CelString::from(text)),
        ConditionValue::Whole(number) => Box::new(CelInt::from(number)),
        ConditionValue::Truth(value) => Box::new(CelBool::from(value)),
        ConditionValue::List(items) => list(items.into_iter().map(|item| value(item, left)))?,
        ConditionValue::Map(fields) => {
            map(fields.into_iter().map(|(key, field)| Ok((key, value(field, left)?))))?
        }
        ConditionValue::Json(json) => json_value(json, left)?,
    })
}

pub(crate) fn json_value<'a>(
    json: &'a serde_json::Value,
    left: &mut usize,
) -> Result<Box<dyn Val + 'a>, String> {
    *left = left.checked_sub(1).ok_or(TOO_BIG)?;
    Ok(match json {
        serde_json::Value::Null => Box::new(CelNull),
        serde_json::Value::Bool(value) => Box::new(CelBool::from(*value)),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Box::new(CelInt::from(whole)),
            (None, Some(real)) => Box::new(CelDouble::from(real)),
            (None, None) => Box::new(CelNull),
        },
        serde_json::Value::String(text) => Box::new(CelString::from(text.as_str())),
        serde_json::Value::Array(items) => list(items.iter().map(|item| json_value(item, left)))?,
        serde_json::Value::Object(fields) => {
            map(fields.iter().map(|(key, field)| Ok((key.as_str(), json_value(field, left)?))))?
        }
    })
}

const TOO_BIG: &str = "what it is about is too big for a condition";

type ValueResult<'a> = Result<Box<dyn Val + 'a>, String>;

fn list<'a>(items: impl ExactSizeIterator<Item = ValueResult<'a>>) -> ValueResult<'a> {
    if items.len() > ITEMS_MAX {
        return Err("a list is too long for a condition".into());
    }
    let items: Vec<_> = items.collect::<Result<_, _>>()?;
    Ok(Box::new(CelList::from(items)))
}

fn map<'a>(
    fields: impl ExactSizeIterator<Item = Result<(&'a str, Box<dyn Val + 'a>), String>>,
) -> ValueResult<'a> {
    let mut map = HashMap::with_capacity(fields.len());
    for field in fields {
        let (key, value) = field?;
        map.insert(CelMapKey::from(key), value);
    }
    Ok(Box::new(CelMap::from(map)))
}
