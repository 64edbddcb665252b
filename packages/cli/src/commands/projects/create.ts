import { accountFlag, chosenAccountId, resolveAccountId } from '../members/account.ts'
import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'
import { bold, green } from '../../terminal/output.ts'
import { readStdin } from '../../terminal/read-stdin.ts'
import { printProject } from './projects.ts'
import { linkFolder } from './link.ts'

export const create = command({
  summary: 'Create a project from a git repository, or with a new managed one',
  about: ['--git-token - reads the credential of the git host from stdin. The credential never enters a sandbox.'],
  scope: 'host',
  flags: {
    repo: { kind: 'text', summary: 'Repository URL (default: a new managed repository)', value: 'url' },
    name: { kind: 'text', summary: 'Name (default: from the repository)', value: 'text' },
    'default-branch': { kind: 'text', summary: "Default branch (default: the repository's)", value: 'ref' },
    'git-token': { kind: 'text', summary: 'Git access token with write access; - reads stdin', value: 'token' },
    'git-username': { kind: 'text', summary: 'User name of the token (default: x-access-token)', value: 'text' },
    'ssh-key': { kind: 'text', summary: 'generate: create a key on the server for an ssh:// URL', value: 'generate' },
    account: accountFlag,
    link: { kind: 'switch', summary: 'Link this folder to the project' },
  },
  examples: [
    'svc projects create --name my-app --link',
    'svc projects create --repo https://git.example.com/team/app.git --git-token -',
    'svc projects create --repo git@git.example.com:team/app.git --ssh-key generate',
  ],
  async run(ctx, { flags }) {
    if (flags['ssh-key'] !== undefined && flags['ssh-key'] !== 'generate')
      throw new UsageError(`--ssh-key must be generate, not ${JSON.stringify(flags['ssh-key'])}`)
    const gitToken = flags['git-token'] === '-' ? await readStdin(ctx.io, 'the git token') : flags['git-token']
    const account =
      flags.account === undefined ? await chosenAccountId(ctx) : await resolveAccountId(ctx, flags.account)
    const { data: project, warnings } = await ctx.api.warned.post('/v1/projects', {
      once: true,
      body: {
        repo_url: flags.repo,
        account_id: account,
        name: flags.name,
        default_branch: flags['default-branch'],
        git_token: gitToken,
        ...(flags['ssh-key'] === undefined ? {} : { git_ssh_key: 'generate' as const }),
        git_username: flags['git-username'],
      },
    })
    for (const warning of warnings) ctx.out.warn(warning)
    const { out } = ctx
    const path = flags.link ? await linkFolder(ctx, project) : null
    if (out.json) return out.document(project)
    if (out.terminal) {
      out.line(green('✓ '), 'Created ', bold(project.slug))
      out.line()
    }
    printProject(ctx, project)
    if (path !== null) out.note(`Linked by ${path}.`)
    if (project.ssh_public_key !== null) {
      out.note(`Add this key to the repository as a deploy key with write access:`)
      out.note('  ', project.ssh_public_key)
    }
    // A session needs a branch, and a new managed repository has none.
    out.note(project.managed ? 'Next, in a git repository with a commit:' : 'Next:')
    if (!flags.link) out.note('  $ ', `svc projects link ${project.slug}`)
    if (project.managed) {
      const push = `git push ${project.git_url} HEAD:${project.default_branch}`
      out.note('  $ ', 'svc ship', `   (or ${push}, with user x-access-token and your token as the password)`)
    }
    out.note('  $ ', 'svc sessions new --prompt "<what to do>"')
  },
})
