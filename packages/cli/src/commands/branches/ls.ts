import { command } from '../../arguments/command.ts'
import { limitFlag } from '../../arguments/limit.ts'
import { dim } from '../../terminal/output.ts'
import { shortSha } from '../cr/labels.ts'

export const ls = command({
  summary: 'List the branches of the project by name',
  scope: 'project',
  flags: { limit: limitFlag },
  examples: ['svc branches ls', 'svc branches ls --json name,sha'],
  async run({ out, project }, { flags: { limit } }) {
    const { data, cursor } = await project.page('/branches', { query: { limit } })
    out.list(data, data.branches, 'The repository has no branches yet.', [
      { title: 'BRANCH', of: (branch) => branch.name, shrink: true },
      { title: 'HEAD', of: (branch) => (out.terminal ? shortSha(branch.sha) : branch.sha) },
      { title: '', of: (branch) => (branch.is_default ? dim('default') : '') },
    ])
    if (cursor !== null) out.note(`There are more: --limit ${Math.min(1000, limit * 10)}`)
  },
})
