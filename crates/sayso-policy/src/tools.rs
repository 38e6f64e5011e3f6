//! The known tools of agent clients, whose effects are known.

/// Tools that read, write, search and plan, as Claude Code, Codex, Gemini CLI and opencode name them, and those that
/// run a command line, which is parsed.
const KNOWN: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "Edit",
    "EnterPlanMode",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "KillBash",
    "KillShell",
    "LS",
    "LSP",
    "ListMcpResourcesTool",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "PowerShell",
    "Read",
    "ReadMcpResourceTool",
    "Skill",
    "SlashCommand",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Write",
    "apply_patch",
    "exec_command",
    "list_dir",
    "local_shell",
    "read_mcp_resource",
    "shell",
    "shell_command",
    "unified_exec",
    "update_plan",
    "view_image",
    "web_search",
    "write_stdin",
    "activate_skill",
    "glob",
    "google_web_search",
    "grep_search",
    "list_directory",
    "read_file",
    "read_many_files",
    "replace",
    "run_shell_command",
    "save_memory",
    "search_file_content",
    "web_fetch",
    "write_file",
    "write_todos",
    "bash",
    "edit",
    "grep",
    "list",
    "patch",
    "question",
    "read",
    "skill",
    "task",
    "todoread",
    "todowrite",
    "webfetch",
    "websearch",
    "write",
];

/// The prefixes that clients give the tools of sayso's own MCP server.
const OWN: &[&str] = &["mcp__sayso__", "mcp_sayso_", "sayso__", "sayso_"];

/// True if the effects of a tool of this name are known.
pub(crate) fn is_known(tool: &str) -> bool {
    KNOWN.contains(&tool) || OWN.iter().any(|prefix| tool.starts_with(prefix))
}

/// True if its command lines are in a language that is not parsed here.
pub(crate) fn is_foreign_shell(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    ["powershell", "pwsh", "cmd.exe", "fish", "nushell"].iter().any(|name| tool.contains(name))
}
