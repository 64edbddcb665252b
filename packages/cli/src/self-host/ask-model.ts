/** Asks for the model of the agents at a server's first start on a terminal. */
import type { Readable, Writable } from 'node:stream'
import { assumeWidth } from '../terminal/assume-width.ts'
import { safe } from '../terminal/safe.ts'

export interface GivenModel {
  url: string
  models: string[]
  key: string | null
}

/** Null when the user skips it, `interrupted` on Ctrl-C. `problem` says why the previous answer was refused. */
export async function askModel(options: {
  problem: string | null
  signal: AbortSignal
  input: Readable
  output: Writable
}): Promise<GivenModel | null | 'interrupted'> {
  const prompts = await import('@clack/prompts')
  const { problem, signal, input, output } = options
  assumeWidth(output)
  const shared = { withGuide: false, signal, input, output }
  if (problem !== null) output.write(`\n${safe(problem)}\n`)
  const url = await prompts.text({
    message: 'Which model server do agents use? URL of an OpenAI-compatible API, or Enter to skip',
    placeholder: 'https://models.example/v1',
    ...shared,
  })
  if (prompts.isCancel(url)) return 'interrupted'
  if ((url ?? '').trim() === '') return null
  const name = await prompts.text({
    message: 'Name of the model',
    validate: (value) => ((value ?? '').trim() === '' ? 'Enter a name' : undefined),
    ...shared,
  })
  if (prompts.isCancel(name)) return 'interrupted'
  const key = await prompts.password({ message: 'API key, or Enter if it needs none', ...shared })
  if (prompts.isCancel(key)) return 'interrupted'
  return { url: url.trim(), models: [name.trim()], key: key?.trim() || null }
}
