/**
 * The scripted model uses no AI. It speaks the OpenAI-compatible format, so that the tour and tests run the whole path
 * from prompt to change request without a key. It is stateless: the conversation determines the next step.
 */
import { count } from '@svc/contract/count'
import { scriptedModelName } from '@svc/contract'
import { completion, type ToolCall } from './chat-format.ts'

export interface ChatMessage {
  role: string
  content?: string | { type: string; text?: string }[] | null | undefined
  tool_calls?: { function: { name: string; arguments: string } }[] | undefined
}

export interface ChatRequest {
  model?: string | undefined
  messages: ChatMessage[]
  tools?: { function: { name: string; parameters?: { properties?: Record<string, unknown> } } }[] | undefined
  stream?: boolean | undefined
}

interface Step {
  say: string
  command: string
  /** A runtime tool to call instead of the shell, with its input as JSON. */
  tool?: { name: string; input: string }
}

/** The tour: the path of every agent, one command per step. */
const demonstration: Step[] = [
  {
    say: `I am a scripted demonstration (${scriptedModelName}), not an AI: whatever you ask, I show the path of every agent here. First, I change a file.`,
    command: `if grep -qs '</main>' index.html; then sed -i 's|</main>|  <p>Hello from a scripted session.</p>\\n    </main>|' index.html; else echo 'Hello from a scripted session.' >> GREETING.md; fi`,
  },
  { say: 'Now I commit it on the branch of this session.', command: `git add -A && git commit -m 'Add a greeting'` },
  { say: 'The branch outlives this sandbox once it is pushed.', command: 'git push origin HEAD' },
]
const proposal: Step = {
  say: 'Work reaches the default branch only through a change request, so I open one.',
  command: `svc cr open --title 'Add a greeting'`,
}

/** The runtime does not report exit codes to the model, so each command prints its own. Output of the other pipe may follow it. */
const exitMark = /^\[exit (\d+)\]$/m

export function scriptedCompletion(request: ChatRequest): Response {
  return completion({ ...nextMove(request), model: scriptedModelName, stream: request.stream === true })
}

/** The next step of a conversation in either format. */
export function nextMove(request: ChatRequest): { text: string; call?: ToolCall } {
  // Requests for titles and summaries have no tools.
  if (request.tools === undefined || request.tools.length === 0) return { text: 'Scripted demonstration' }
  const shell = request.tools.find((tool) => tool.function.name === 'bash')
  if (shell === undefined)
    return {
      text: 'I am a scripted demonstration, not an AI, and I need the tool bash, which this agent does not have.',
    }

  const promptAt = request.messages.findLastIndex((message) => message.role === 'user')
  const before = request.messages.slice(0, Math.max(promptAt, 0))
  const results = request.messages
    .slice(promptAt + 1)
    .filter((message) => message.role === 'tool')
    .map(textOf)
  const script = scriptIn(textOf(request.messages[promptAt]))
  const steps = script ?? (opened(before) === null ? [...demonstration, proposal] : demonstration)

  // Only commands print an exit code; tool results have none.
  const failure = results.find((text, index) => steps[index]?.tool === undefined && exitMark.exec(text)?.[1] !== '0')
  if (failure !== undefined) return { text: explainFailure(steps[results.indexOf(failure)], failure) }
  const step = steps[results.length]
  if (step === undefined) return { text: closing(script !== null, results, opened(request.messages)) }
  if (step.tool !== undefined) {
    const { name, input } = step.tool
    const offered = request.tools.map((tool) => tool.function.name)
    if (!offered.includes(name)) return { text: `I stop here: there is no tool ${name} among ${offered.join(', ')}.` }
    return { text: step.say, call: { id: `call_${promptAt}_${results.length}`, name, arguments: input } }
  }
  return {
    text: step.say,
    call: bashCall(step, `call_${promptAt}_${results.length}`, shell.function.parameters?.properties ?? {}),
  }
}

/** A prompt may contain its own commands, one per line, in a fenced `svc-script` block. `@name {…}` calls a tool of the runtime. */
function scriptIn(prompt: string): Step[] | null {
  // In a new sandbox the prompt brings the earlier conversation, whose scripts ran already.
  const [own = ''] = prompt.split('\n<conversation>\n', 1)
  const block = /^```svc-script[ \t]*\n([\s\S]*?)^```/m.exec(own)
  if (block === null) return null
  const lines = (block[1] ?? '').split('\n').map((line) => line.trim())
  const commands = lines.filter((line) => line !== '' && !line.startsWith('#'))
  return commands.map((command, index) => ({
    say:
      index === 0
        ? `I am a scripted demonstration, not an AI, and run the ${count(commands.length, 'command')} of your script.`
        : '',
    command,
    ...toolIn(command),
  }))
}

function toolIn(line: string): Pick<Step, 'tool'> {
  const [, name = '', input = ''] = /^@([\w-]+)\s*(\{.*\})?$/.exec(line) ?? []
  return name === '' ? {} : { tool: { name, input: input || '{}' } }
}

/** People see the first line of a call. A subshell prints the exit code even after `exit`. */
const withExitMark = (command: string) =>
  `${/\b(?:exit|exec)\b/.test(command) ? `(${command}\n)` : command}\ncode=$?; echo "[exit $code]"; (exit $code)`

function bashCall(step: Step, id: string, parameters: Record<string, unknown>): ToolCall {
  const values = {
    command: withExitMark(step.command),
    description: step.command.slice(0, 60),
  }
  const known = Object.entries(values).filter(([name]) => name === 'command' || name in parameters)
  return { id, name: 'bash', arguments: JSON.stringify(Object.fromEntries(known)) }
}

/** The number of the change request an earlier step opened, or null. */
function opened(messages: ChatMessage[]): string | null {
  const at = messages.findIndex((message) =>
    message.tool_calls?.some((call) => call.function.arguments.includes('svc cr open')),
  )
  const result = at === -1 ? undefined : messages.slice(at + 1).find((message) => message.role === 'tool')
  const text = textOf(result)
  return exitMark.exec(text)?.[1] === '0' ? (/#(\d+)/.exec(text)?.[1] ?? null) : null
}

function explainFailure(step: Step | undefined, output: string): string {
  const code = exitMark.exec(output)?.[1]
  const how = code === undefined ? 'did not finish' : `failed with exit code ${code}`
  return `I stop here: \`${step === undefined ? 'a command' : step.command}\` ${how}.\n\n${fenced(output)}`
}

function closing(isScript: boolean, results: string[], number: string | null): string {
  if (isScript) {
    const what = results.length === 1 ? 'The command' : `All ${results.length} commands`
    return `${what} of the script ran.\n\n${fenced(results.at(-1) ?? '')}`
  }
  const name = number === null ? 'The change request' : `Change request #${number}`
  return `${name} holds the work and is yours to review. I do not merge it: that is your decision, in the dashboard or with \`svc cr merge ${number ?? '<n>'}\`.`
}

function fenced(output: string): string {
  const text = output.replace(exitMark, '').trim().slice(-2_000)
  return text === '' ? '' : `\`\`\`\n${text}\n\`\`\``
}

function textOf(message: ChatMessage | undefined): string {
  const content = message?.content ?? ''
  return typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('\n')
}
