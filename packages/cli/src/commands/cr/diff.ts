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
  },
  examples: ['svc cr diff 3', 'svc cr diff @ | git apply --check'],
  async run(ctx, { args, flags }) {
    const { api, projectId } = await ctx.project()
    const cr = await resolveChangeRequest(ctx, api, projectId, args.cr)
    const found = await getDiff(api, cr, flags.renames)
    const { out } = ctx
    if (out.json) return out.document(found)
    if (found.files.length === 0) return out.note('No differences.')
    if (flags.stat) printFiles(ctx, found)
    else await printPatch(ctx, found.patch)
    if (found.truncated) out.warn('The patch is too large and ends early; --stat lists every file.')
  },
})

type Diff = Awaited<ReturnType<typeof getDiff>>

export function getDiff(api: ApiClient, cr: ChangeRequest, renames = false) {
  return reply(
    api.GET('/v1/projects/{projectId}/change-requests/{crId}/diff', {
      params: {
        path: { projectId: cr.project_id, crId: cr.cr_id },
        query: renames ? { renames: '1' as const } : {},
      },
    }),
  )
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
