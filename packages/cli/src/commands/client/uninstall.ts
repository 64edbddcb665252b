import { rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { ask } from '../../terminal/ask.ts'
import { changeConfig, readConfig } from '../../config/config-file.ts'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import { findInstalled, isOurLink, manualFolder, manualLinks, svcHome } from '../../install/installed.ts'
import { green } from '../../terminal/output.ts'
import { runningServer } from '../../self-host/state.ts'

export const uninstall = command({
  summary: 'Remove the client: the program, its link, ~/.svc and the stored tokens',
  about: ["Never touches a server's data, projects or repositories."],
  scope: 'nothing',
  flags: {
    'keep-home': { kind: 'switch', summary: 'Keep ~/.svc, but remove the program and its manual pages' },
    'keep-auth': { kind: 'switch', summary: 'Keep the stored tokens' },
    yes: { kind: 'switch', summary: 'Do not ask' },
  },
  examples: ['svc uninstall', 'svc uninstall --keep-auth --yes'],
  async run(ctx, { flags }) {
    const home = svcHome(ctx.io)
    const program = join(home, 'bin', 'svc')
    await refuseWhileServing(ctx, program)
    const what = flags['keep-home'] ? 'the program' : `the program and ${home}`
    const question = `Remove ${what}${flags['keep-auth'] ? '' : ' and every stored token'}?`
    if (!flags.yes && (await ask(ctx, question)) === false) throw new Refusal('cancelled', 'Nothing was removed')

    const removed = [
      ...(await removeLinks(ctx, program)),
      ...(await removeManual(ctx, home)),
      ...((await removeFile(program)) ? [program] : []),
      ...(flags['keep-home'] ? [] : await removeFolder(home)),
      ...(flags['keep-auth'] ? [] : await forgetTokens(ctx)),
    ]
    const { out } = ctx
    if (out.json) return out.document({ removed })
    for (const path of removed) out.line(green('✓ '), 'Removed ', path)
    if (removed.length === 0) out.note('There was nothing to remove.')
    else if (!removed.includes(program)) out.note(`The program stays, because it runs from ${process.execPath}.`)
    if (!flags['keep-auth'] && removed.some((path) => path.startsWith('tokens')))
      out.note('The tokens stay valid on their servers until you revoke them there.')
  },
})

/** A running server would lose its program. */
async function refuseWhileServing(ctx: Context, program: string): Promise<void> {
  const server = await runningServer(ctx)
  if (server === null || server.program !== program) return
  throw new Refusal('not_available', 'Your server is running from this program', {
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

/** Removes the links first: install.json names them. */
async function removeManual({ io }: Context, home: string): Promise<string[]> {
  const noted = (await findInstalled(io).catch(() => null))?.man
  const places = [noted, '/usr/local/share/man/man1', join(io.env.HOME ?? '', '.local/share/man/man1')]
  const removed: string[] = []
  for (const folder of new Set(places.filter((path) => path != null))) {
    const links = await manualLinks(folder, home)
    for (const link of links) await removeFile(link)
    if (links.length > 0) removed.push(`the manual pages in ${folder}`)
  }
  return [...removed, ...(await removeFolder(manualFolder(home)))]
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
  return new Refusal('not_available', `${path} can't be removed`, { hint: (cause as Error).message, cause })
}
