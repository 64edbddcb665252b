import { command } from '../arguments/command.ts'
import { UsageError } from '../errors.ts'
import { bold, dim } from '../terminal/output.ts'
import { quote } from '../arguments/shell-word.ts'
import { previewLines, shortSha } from './cr/labels.ts'

export const compare = command({
  summary: 'Compare two branches: show what a merge of one into the other would change',
  scope: 'project',
  args: { range: { summary: 'base..head, or a head to compare with the default branch' } },
  examples: ['svc compare main..greeting', 'svc compare greeting --json ahead,can_merge'],
  async run({ out, project, next }, { args }) {
    const parts = args.range.split(/\.{2,3}/)
    const head = parts.at(-1)!
    if (parts.length > 2 || head === '')
      throw new UsageError(`${JSON.stringify(args.range)} is not a range of branches`, {
        next: ['svc compare main..<head>'],
      })
    const base = parts.length === 2 && parts[0] !== '' ? parts[0] : undefined
    const query = { head, base }
    const found = await project.get('/compare', { query })
    if (out.json) return out.document(found)
    out.line(bold(`${found.base_ref}..${found.head_ref}`), `  ${found.ahead} ahead, ${found.behind} behind`)
    const { verdict, files } = previewLines(found)
    out.line(verdict)
    for (const file of files) out.line(`  conflict: ${file}`)
    for (const commit of found.commits)
      out.line(dim(`${shortSha(commit.sha)}  `), commit.subject, dim(`  ${commit.author_name}`))
    out.table(found.files, [
      { title: 'FILE', of: (file) => file.path, shrink: true },
      { title: 'STATUS', of: (file) => file.status },
      { title: '+', of: (file) => (file.binary ? 'binary' : `+${file.additions}`) },
      { title: '-', of: (file) => (file.binary ? '' : `-${file.deletions}`) },
    ])
    if (found.ahead > 0) out.note(`Next: ${next(`svc cr open --fill --head ${quote(found.head_ref)}`)}`)
  },
})
