import { command } from '../arguments/command.ts'
import { git, topOfRepository } from '../git/git.ts'
import { printScaffolded, scaffold } from '../scaffold/scaffold.ts'

export const init = command({
  summary: 'Set up a project in this folder: svc.toml, an agent, a skill, a tool',
  about: [
    'Writes svc.toml, .svc/Dockerfile and .svc/runtime with the default agent, a skill for delivering work as change requests, and a tool. Never overwrites an existing file.',
    'Installs the same skill for coding agents found in the project or your home directory; on a terminal it asks for each. In a git repository it writes to the root. It creates nothing on a server: svc ship does.',
  ],
  scope: 'nothing',
  flags: {
    name: { kind: 'text', summary: 'Name of the project (default: the folder)', value: 'text' },
    'no-wire': { kind: 'switch', summary: "Don't set up local coding agents" },
    yes: { kind: 'switch', summary: 'Do not ask' },
  },
  examples: ['svc init', 'svc init --name "My app" --no-wire'],
  async run(ctx, { flags }) {
    const { io } = ctx
    const top = await topOfRepository(io.cwd, io.env)
    const made = await scaffold(ctx, {
      folder: top ?? io.cwd,
      name: flags.name,
      wire: !flags['no-wire'],
      yes: flags.yes,
    })
    const hasCommit =
      top !== null &&
      (await git(top, ['rev-parse', '--verify', '--quiet', 'HEAD'], io.env).then(
        () => true,
        () => false,
      ))
    printScaffolded(ctx, made, [
      ...(top === null ? ['git init --initial-branch=main'] : []),
      `git add --all && git commit --message "${hasCommit ? 'Work with svc' : 'First commit'}"`,
      'svc ship',
    ])
  },
})
