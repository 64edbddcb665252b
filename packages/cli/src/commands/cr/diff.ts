import type { ChangeRequest } from '../../wire.ts'
import type { ApiClient } from '@svc/contract/api'
import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import type { Context } from '../../context.ts'
import { colourPatch } from '../../colour-patch.ts'
import { crArg, resolveChangeRequest } from './find.ts'

export const diff = command({
  summary: 'Show what a change request changes, as a unified diff',
  about: ['On a terminal it is coloured and paged (SVC_PAGER, PAGER, less -FRX); in a pipe it is the exact patch.'],
  scope: 'project',
  args: { cr: crArg },
  flags: {
    stat: { kind: 'switch', summary: 'Only the files with their counts' },
    renames: { kind: 'switch', summary: 'Find renamed files' },
    'ignore-whitespace': { kind: 'switch', short: 'w', summary: 'Leave out what differs in whitespace alone' },
  },
  examples: ['svc cr diff 3', 'svc cr diff 3 -w', 'svc cr diff @ | git apply --check'],
  async run(ctx, { args, flags }) {
    const { api, projectId } = await ctx.project()
    const cr = await resolveChangeRequest(ctx, api, projectId, args.cr)
    const found = await getDiff(api, cr, { renames: flags.renames, ignoreWhitespace: flags['ignore-whitespace'] })
    const { out } = ctx
    if (out.json) return out.document(found)
    const leftOut = found.whitespace_only?.length ?? 0
    if (leftOut > 0) out.note(leftOutNote(leftOut))
    if (found.files.length === 0) return out.note(leftOut > 0 ? 'No other differences.' : 'No differences.')
    if (flags.stat) printFiles(ctx, found)
    else await printPatch(ctx, found.patch)
    if (found.truncated) out.warn('The patch is too large and ends early; --stat lists every file.')
  },
})

type Diff = Awaited<ReturnType<typeof getDiff>>

export function getDiff(
  api: ApiClient,
  cr: ChangeRequest,
  how: { renames?: boolean; ignoreWhitespace?: boolean } = {},
) {
  return reply(
    api.GET('/v1/projects/{projectId}/change-requests/{crId}/diff', {
      params: {
        path: { projectId: cr.project_id, crId: cr.cr_id },
        query: {
          ...(how.renames ? { renames: '1' as const } : {}),
          ...(how.ignoreWhitespace ? { ignore_whitespace: '1' as const } : {}),
        },
      },
    }),
  )
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
  const { page } = await import('../../pager.ts')
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
    { title: '-', of: (file) => (file.binary ? '' : `-${file.deletions}`) },
  ])
}
