import { command } from '../command.ts'
import { git, topOfRepository } from '../git.ts'
import { printScaffolded, scaffold } from '../scaffold/scaffold.ts'

export const init = command({
  summary: 'Make this folder a project: svc.toml, an agent, a skill, a tool',
  about: [
    'It writes svc.toml, .svc/Dockerfile and .svc/runtime with the default agent, a skill that teaches agents to hand over work as change requests, and a tool. What is there is never written over.',
    'Coding agents found in the project or in your home are taught the same skill: on a terminal you are asked for each. In a git repository it works at its top. It makes nothing on a server: svc ship does.',
  ],
  scope: 'nothing',
  args: {},
  flags: {
    name: { kind: 'text', summary: 'Name of the project (default: the folder)', value: 'text' },
    'no-wire': { kind: 'switch', summary: 'Leave coding agents of this machine alone' },
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
