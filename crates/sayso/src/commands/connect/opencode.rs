//! opencode: it has plugins in place of hooks.

use serde_json::json;

/// The plugin, which starts a hook with this command line before every call.
pub(super) fn plugin(words: &[String]) -> String {
    PLUGIN.replace("{words}", &json!(words).to_string())
}

/// The text of a thrown error reaches the model. The plugin throws unless the call is clearly allowed.
const PLUGIN: &str = r#"// Written by `sayso connect opencode`, taken away by `sayso connect opencode --undo`.
// Every tool call waits here for sayso. Whatever goes wrong is a no.
import { spawn } from "node:child_process"

const words = {words}
const longestMs = 600_000

const ask = (event) =>
  new Promise((resolve, reject) => {
    const hook = spawn(words[0], words.slice(1), { stdio: ["pipe", "pipe", "pipe"] })
    const said = { out: "", err: "" }
    const late = setTimeout(() => {
      hook.kill("SIGKILL")
      reject(new Error("sayso did not come to an answer in time, so nothing is allowed"))
    }, longestMs)
    hook.on("error", (why) => {
      clearTimeout(late)
      reject(new Error(`sayso cannot be started, so nothing is allowed: ${why.message}`))
    })
    hook.stdout.on("data", (bytes) => (said.out += bytes))
    hook.stderr.on("data", (bytes) => (said.err += bytes))
    hook.stdin.on("error", () => {})
    hook.on("close", (code) => {
      clearTimeout(late)
      resolve({ code, ...said })
    })
    hook.stdin.end(event)
  })

export const Sayso = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const { code, out, err } = await ask(
      JSON.stringify({
        hook_event_name: "tool.execute.before",
        session_id: input.sessionID,
        tool_use_id: input.callID,
        cwd: directory,
        tool_name: input.tool,
        tool_input: output.args,
      }),
    )
    if (code !== 0) throw new Error(err.trim() || `sayso ended with ${code}, so nothing is allowed`)
    if (out.trim() === "") return
    const said = JSON.parse(out)
    if (said.decision !== "allow") throw new Error(said.reason || "sayso said no")
    if (said.args) {
      for (const name of Object.keys(output.args)) delete output.args[name]
      Object.assign(output.args, said.args)
    }
  },
})
"#;
