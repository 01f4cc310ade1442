// Written by `truecall install opencode`, taken away by `truecall uninstall opencode`; edits are lost with it.
// Asks truecall after every tool call and puts its answer where the model reads it. It never throws and never
// stays silent when truecall could not be asked: a call that was not checked is not taken for a good one.
import { spawn } from "node:child_process"

const COMMAND: string = "TRUECALL_PYTHON='/path/to/python' '/path/to/hooks/run.sh' opencode tool.execute.after --state '/path/to/state'"
const TIMEOUT = 30_000 // milliseconds; truecall's own deadline is 20 seconds
const DIED =
  "NOT CONFIRMED: truecall, the hook that checks this call's result, did not answer. " +
  "Do not report this step as done before you have looked for yourself."

type Answer = { output?: string; append?: string }

function ask(event: string, folder: string): Promise<Answer> {
  return new Promise((resolve) => {
    let out = ""
    let err = ""
    const child = spawn("/bin/sh", ["-c", COMMAND], { cwd: folder, stdio: ["pipe", "pipe", "pipe"] })
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      resolve({ append: DIED })
    }, TIMEOUT)
    const end = (answer: Answer) => {
      clearTimeout(timer)
      resolve(answer)
    }
    child.on("error", () => end({ append: DIED }))
    child.stdin.on("error", () => {})
    child.stdout.setEncoding("utf8").on("data", (piece: string) => (out += piece))
    child.stderr.setEncoding("utf8").on("data", (piece: string) => (err += piece))
    child.on("close", (code) => {
      if (code === 0 && out.trim() === "") return end({})
      try {
        const answer = JSON.parse(out)
        if (code === 0 && (typeof answer.output === "string" || typeof answer.append === "string")) return end(answer)
        if (code === 0 && answer !== null && Object.keys(answer).length === 0) return end({})
      } catch {}
      end({ append: err.trim() || DIED })
    })
    child.stdin.end(event)
  })
}

function put(output: any, answer: Answer) {
  const text = answer.output ?? answer.append
  if (text === undefined) return
  const whole = answer.output !== undefined
  if (typeof output.output === "string") {
    output.output = whole ? text : output.output === "" ? text : `${output.output}\n\n${text}`
  } else if (Array.isArray(output.content)) {
    // An MCP tool: its own list is what the model is given.
    output.content.splice(whole ? 0 : output.content.length, output.content.length, { type: "text", text })
  } else {
    output.output = text
  }
}

export const Truecall = async ({ directory }: any) => ({
  "tool.execute.after": async (input: any, output: any) => {
    try {
      put(output, await ask(JSON.stringify({ cwd: directory, input, output }), directory))
    } catch {
      try {
        put(output, { append: DIED })
      } catch {}
    }
  },
})
