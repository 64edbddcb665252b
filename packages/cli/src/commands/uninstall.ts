import { rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { ask } from '../ask.ts'
import { changeConfig, readConfig } from '../config-file.ts'
import { command } from '../command.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { isOurLink, findInstalled, svcHome } from '../installed.ts'
import { green } from '../output.ts'
import { runningServer } from '../self-host/state.ts'

export const uninstall = command({
  summary: 'Remove the client: the program, its link, ~/.svc and the stored tokens',
  about: ['The data of a server is never touched, and neither are projects or repositories.'],
  scope: 'nothing',
  args: {},
  flags: {
    'keep-home': { kind: 'switch', summary: 'Keep ~/.svc (the program in it goes)' },
    'keep-auth': { kind: 'switch', summary: 'Keep the stored tokens' },
    yes: { kind: 'switch', summary: 'Do not ask' },
  },
  examples: ['svc uninstall', 'svc uninstall --keep-auth --yes'],
  async run(ctx, { flags }) {
    const home = svcHome(ctx.io)
    const program = join(home, 'bin', 'svc')
    await refuseWhileServing(ctx, program)
    const what = flags['keep-home'] ? 'the program' : `the program and ${home}`
    const question = `Remove ${what}${flags['keep-auth'] ? '' : ', and forget every token'}?`
    if (!flags.yes && (await ask(ctx, question)) === false) throw new Refusal('cancelled', 'Nothing was removed')

    const removed = [
      ...(await removeLinks(ctx, program)),
      ...((await removeFile(program)) ? [program] : []),
      ...(flags['keep-home'] ? [] : await removeFolder(home)),
      ...(flags['keep-auth'] ? [] : await forgetTokens(ctx)),
    ]
    const { out } = ctx
    if (out.json) return out.document({ removed })
    for (const path of removed) out.line(green('✓ '), 'Removed ', path)
    if (removed.length === 0) out.note('There was nothing to remove.')
    else if (!removed.includes(program)) out.note(`The program itself stays: it runs from ${process.execPath}.`)
    if (!flags['keep-auth'] && removed.some((path) => path.startsWith('tokens')))
      out.note('The tokens stay valid on their servers until they are revoked there.')
  },
})

/** Its program would be gone under it. */
async function refuseWhileServing(ctx: Context, program: string): Promise<void> {
  const server = await runningServer(ctx)
  if (server === null || server.program !== program) return
  throw new Refusal('not_available', 'A server of yours runs from this program', {
    hint: 'Stop it first. Its data stays.',
    next: ['svc self-host stop', 'svc uninstall'],
  })
}

async function removeLinks({ io }: Context, program: string): Promise<string[]> {
  const noted = (await findInstalled(io).catch(() => null))?.shim
  const places = [noted, '/usr/local/bin/svc', join(io.env.HOME ?? '', '.local/bin/svc')]
  const links = [...new Set(places.filter((path) => path != null))]
  const removed: string[] = []
  for (const link of links) if ((await isOurLink(link, program)) && (await removeFile(link))) removed.push(link)
  return removed
}

async function removeFile(path: string): Promise<boolean> {
  try {
    await unlink(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw cannotRemove(path, error)
  }
}

async function removeFolder(path: string): Promise<string[]> {
  try {
    await rm(path, { recursive: true })
    return [path]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw cannotRemove(path, error)
  }
}

async function forgetTokens(ctx: Context): Promise<string[]> {
  const path = ctx.configPath()
  if (Object.keys((await readConfig(path)).tokens).length === 0) return []
  await changeConfig(path, (config) => {
    config.tokens = {}
  })
  return [`tokens of ${path}`]
}

function cannotRemove(path: string, cause: unknown): Refusal {
  return new Refusal('not_available', `${path} cannot be removed`, { hint: (cause as Error).message, cause })
}
