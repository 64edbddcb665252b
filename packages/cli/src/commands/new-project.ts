/** `svc <project-name>`: an unknown word may be the name of a new project. */
import { lstat, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ask } from '../terminal/ask.ts'
import { type AnyCommand, command } from '../arguments/command.ts'
import { Refusal, UsageError } from '../errors.ts'
import { git, topOfRepository } from '../git/git.ts'
import { printScaffolded, scaffold } from '../scaffold/scaffold.ts'

/** `unknown` is the error without a terminal to confirm it. */
export function newProject(name: string, unknown: UsageError): AnyCommand {
  return command({
    summary: 'Create a project in a new folder',
    scope: 'nothing',
    flags: {
      'no-wire': { kind: 'switch', summary: "Don't set up local coding agents" },
      yes: { kind: 'switch', summary: 'Do not ask' },
    },
    examples: [],
    async run(ctx, { flags }) {
      const { io } = ctx
      // Inside a project, create it next to that project: a nested repository is never wanted.
      const top = await topOfRepository(io.cwd, io.env)
      const folder = join(top === null ? io.cwd : dirname(top), name)
      if (!flags.yes) {
        if (!ctx.interactive) throw unknown
        if (!(await ask(ctx, `${name} is not a command. Create a new project in ${folder}?`))) throw unknown
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
      throw new Refusal('not_available', `${folder} can't be created`, { hint: (cause as Error).message, cause })
    throw new Refusal('not_available', `${folder} already exists`, {
      hint: 'To set up a project there, run svc init in it.',
      next: [`cd ${folder} && svc init`],
    })
  }
}
