/** `svc <project-name>`: not a command of the catalogue, but what a word that is none may mean. */
import { lstat, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ask } from '../ask.ts'
import { type AnyCommand, command } from '../command.ts'
import { Refusal, UsageError } from '../errors.ts'
import { git, topOfRepository } from '../git.ts'
import { printScaffolded, scaffold } from '../scaffold/scaffold.ts'

/** `unknown` is what is said when nobody is there to ask and nothing says that it was meant. */
export function newProject(name: string, unknown: UsageError): AnyCommand {
  return command({
    summary: 'Make a new project in a folder of its own',
    scope: 'nothing',
    args: {},
    flags: {
      'no-wire': { kind: 'switch', summary: 'Leave coding agents of this machine alone' },
      yes: { kind: 'switch', summary: 'Do not ask' },
    },
    examples: [],
    async run(ctx, { flags }) {
      const { io } = ctx
      // Within a project it lies beside it: a repository in a repository helps nobody.
      const top = await topOfRepository(io.cwd, io.env)
      const folder = join(top === null ? io.cwd : dirname(top), name)
      if (!flags.yes) {
        if (!ctx.interactive) throw unknown
        if (!(await ask(ctx, `${name} is no command. Create a new project in ${folder}?`))) throw unknown
      }
      await makeFolder(folder)
      await git(folder, ['init', '--quiet', '--initial-branch=main'], io.env)
      const made = await scaffold(ctx, { folder, name, wire: !flags['no-wire'], yes: flags.yes })
      printScaffolded(ctx, made, [
        `cd ${top === null ? name : folder}`,
        'git add --all && git commit --message "First commit"',
        'svc ship',
      ])
    },
  })
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (cause) {
    if ((await lstat(folder).catch(() => null)) === null)
      throw new Refusal('not_available', `${folder} cannot be made`, { hint: (cause as Error).message, cause })
    throw new Refusal('not_available', `${folder} is there already`, {
      hint: 'To make that folder a project, run svc init in it.',
      next: [`cd ${folder} && svc init`],
    })
  }
}
