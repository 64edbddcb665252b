import { basename } from 'node:path'
import { ask } from '../terminal/ask.ts'
import type { Context } from '../context.ts'
import { bold, green } from '../terminal/output.ts'
import { scaffoldFiles } from './files.ts'
import { findLocalAgents } from './local-agents.ts'
import { placeFile } from './place.ts'

interface Scaffolded {
  folder: string
  name: string
  created: string[]
  kept: string[]
  wired: { agent: string; path: string; done: boolean }[]
}

/** Writes the missing files of a project, and installs the skill into local coding agents. */
export async function scaffold(
  ctx: Context,
  input: { folder: string; name?: string | undefined; wire: boolean; yes: boolean },
): Promise<Scaffolded> {
  const { folder } = input
  const name = input.name ?? (basename(folder) || 'project')
  const made: Scaffolded = { folder, name, created: [], kept: [], wired: [] }
  for (const [path, text] of Object.entries(scaffoldFiles(name))) made[await placeFile(folder, path, text)].push(path)
  const agents = input.wire ? await findLocalAgents(folder, ctx.io.env.HOME) : []
  for (const agent of agents) {
    const question = `${agent.name} is used here. Install the skill for change requests (${agent.path})?`
    // Without a terminal, do it: it is the purpose of the command.
    if (!input.yes && (await ask(ctx, question)) === false) continue
    made.wired.push({ agent: agent.name, path: agent.path, done: (await agent.wire(folder)) === 'created' })
  }
  return made
}

export function printScaffolded({ out }: Context, made: Scaffolded, next: readonly string[]): void {
  if (out.json) return out.document(made)
  out.line(green('✓ '), bold(made.name), ` in ${made.folder}`)
  for (const path of made.created) out.line('  created  ', path)
  for (const path of made.kept) out.line('  kept     ', path, ', already exists')
  for (const { agent, path, done } of made.wired)
    out.line(done ? '  wired    ' : '  kept     ', path, done ? ` for ${agent}` : `, already installed for ${agent}`)
  out.note('Next:')
  for (const command of next) out.note('  $ ', command)
}
