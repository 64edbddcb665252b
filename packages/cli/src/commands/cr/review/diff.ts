import { sizeText } from '@svc/contract/schemas/quotas'
import { command } from '../../../arguments/command.ts'
import type { Context } from '../../../context.ts'
import { colourPatch } from '../../../terminal/colour-patch.ts'
import { crArg, changeRequestAt } from '../find.ts'
import type { ChangeRequestClient } from '../../../requests.ts'

export const diff = command({
  summary: 'Show the changes of a change request as a unified diff',
  about: [
    'On a terminal the diff is colored and paged (SVC_PAGER, PAGER, less -FRX); in a pipe it is the exact patch.',
  ],
  scope: 'project',
  args: { cr: crArg },
  flags: {
    stat: { kind: 'switch', summary: 'Only the files with their line counts' },
    'name-only': { kind: 'switch', summary: 'Only the names of the files, one per line' },
    renames: { kind: 'switch', summary: 'Find renamed files' },
    'ignore-whitespace': { kind: 'switch', short: 'w', summary: 'Ignore whitespace changes' },
    since: {
      kind: 'text',
      value: 'commit',
      summary: 'Only changes since this head commit, even after a force-push',
    },
    to: { kind: 'text', value: 'commit', summary: 'Up to this earlier head instead of the current one' },
  },
  examples: [
    'svc cr diff 3',
    'svc cr diff 3 -w --since 4b825dc642cb6eb9a060e54bf8d69288fbee4904',
    'svc cr diff @ | git apply --check',
  ],
  async run(ctx, { args, flags }) {
    const { at, cr } = await changeRequestAt(ctx, args.cr)
    const found = await getDiff(at, {
      renames: flags.renames,
      ignoreWhitespace: flags['ignore-whitespace'],
      since: flags.since,
      to: flags.to,
    })
    const { out } = ctx
    if (out.json) return out.document(found)
    if (found.since !== undefined) noteSince(ctx, found.since, cr.base_ref)
    const leftOut = found.whitespace_only?.length ?? 0
    if (leftOut > 0) out.note(leftOutNote(leftOut))
    if (found.files.length === 0) return out.note(leftOut > 0 ? 'No other differences.' : 'No differences.')
    if (flags['name-only']) for (const { path } of found.files) out.line(path)
    else if (flags.stat) printFiles(ctx, found)
    else await printPatch(ctx, found.patch)
    if (found.truncated) out.warn('The patch is too large and ends early; --stat lists every file.')
  },
})

type Diff = Awaited<ReturnType<typeof getDiff>>

export function getDiff(
  at: ChangeRequestClient,
  how: { renames?: boolean; ignoreWhitespace?: boolean; since?: string | undefined; to?: string | undefined } = {},
) {
  return at.get('/diff', {
    query: {
      renames: how.renames ? '1' : undefined,
      since: how.since,
      to: how.to,
      ignore_whitespace: how.ignoreWhitespace ? '1' : undefined,
    },
  })
}

function noteSince({ out }: Context, since: NonNullable<Diff['since']>, baseRef: string): void {
  if (since.rewritten) out.note('The branch was rewritten and no longer contains that commit.')
  if (since.base_moved) out.note(`Changes merged from ${baseRef} are omitted.`)
  if (since.conflicts.length > 0)
    out.note(`Both sides changed ${since.conflicts.join(', ')}: conflicting lines are between <<<<<<< and >>>>>>>.`)
}

function leftOutNote(count: number): string {
  return `Whitespace is ignored: ${count === 1 ? '1 file changes nothing else and is' : `${count} files change nothing else and are`} left out.`
}

export async function printPatch(
  ctx: Context,
  patch: string,
  options: { paged: boolean } = { paged: true },
): Promise<void> {
  const { out } = ctx
  if (!out.terminal && !out.colour) return out.raw(patch)
  const text = colourPatch(patch, out.colour)
  if (!options.paged) return out.raw(text)
  const { page } = await import('../../../terminal/pager.ts')
  await page(ctx, text)
}

function printFiles({ out }: Context, found: Diff): void {
  out.table(found.files, [
    {
      title: 'FILE',
      of: (file) => (file.old_path === null ? file.path : `${file.old_path} → ${file.path}`),
      shrink: true,
    },
    { title: 'STATUS', of: (file) => file.status },
    { title: '+', of: (file) => (file.binary ? 'binary' : `+${file.additions}`) },
    { title: '-', of: (file) => (file.binary ? sizesOf(file) : `-${file.deletions}`) },
  ])
}

/** An older server does not know them. */
function sizesOf({ old_size = null, new_size = null }: Diff['files'][number]): string {
  const sizes = [old_size, new_size].flatMap((size) => (size === null ? [] : [sizeText(size)]))
  return sizes.join(' → ')
}
