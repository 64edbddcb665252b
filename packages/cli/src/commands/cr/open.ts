import type { ApiClient } from '@svc/contract/api'
import type { ChangeRequest } from '../../wire.ts'
import { onlyOnce, reply, replyWarned } from '../../api.ts'
import { command } from '../../command.ts'
import type { Context } from '../../context.ts'
import { openPage, projectPage } from '../../dashboard.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { currentBranch } from '../../git.ts'
import { bold, green } from '../../output.ts'
import { valueOrStdin } from '../../read-stdin.ts'
import { changeRequestsOfHead } from './find.ts'
import { changeRequestColumns } from './ls.ts'
import { branch } from './words.ts'

export const open = command({
  summary: 'Open a change request',
  about: [
    'In a sandbox the head is the session branch and the session is noted. Elsewhere give --head, or run it in a linked folder on the branch to propose. The base is the default branch of the project.',
  ],
  scope: 'project',
  args: {},
  flags: {
    title: {
      kind: 'text',
      summary: 'What it does, in one line; on a terminal your editor opens without it',
      value: 'text',
    },
    fill: { kind: 'switch', summary: 'Title and description from the commits of the branch' },
    draft: { kind: 'switch', summary: 'Not to be merged until svc cr ready' },
    web: { kind: 'switch', summary: 'Write it in the browser' },
    description: {
      kind: 'text',
      summary: 'What a reviewer should know; - reads stdin',
      value: 'text',
      aliases: ['body'],
    },
    head: {
      kind: 'text',
      summary: 'Branch to merge (default: $SVC_BRANCH_NAME, $SVC_HEAD_REF)',
      value: 'ref',
      aliases: ['from'],
    },
    base: {
      kind: 'text',
      summary: 'Branch to merge into (default: the default branch)',
      value: 'ref',
      aliases: ['into'],
    },
    session: { kind: 'text', summary: 'Session it comes from (default: $SVC_SESSION_ID)', value: 'id' },
  },
  examples: [
    'svc cr open --title "Add a greeting"',
    'svc cr open --fill --draft --head greeting',
    'svc cr open --title "Fix login" --head fix-login --body -',
  ],
  async run(ctx, { flags }) {
    const { env } = ctx.io
    if (flags.title === undefined && !flags.fill && !flags.web && !ctx.interactive) throw missingTitle()
    const head = flags.head ?? (env.SVC_BRANCH_NAME || env.SVC_HEAD_REF || (await headOfLinkedFolder(ctx)))
    const given =
      flags.description === undefined ? undefined : await valueOrStdin(ctx.io, flags.description, 'the description')
    const session = flags.session ?? env.SVC_SESSION_ID
    const { api, projectId } = await ctx.project()
    if (flags.web)
      return openPage(ctx, `${projectPage(projectId, 'change-requests', 'new')}?head=${encodeURIComponent(head)}`)
    const found = flags.title === undefined ? await textOf(ctx, api, { projectId, head, flags }) : null
    const title = flags.title ?? found!.title
    const description = given ?? found?.description
    const { data: cr, warnings } = await replyWarned(
      api.POST('/v1/projects/{projectId}/change-requests', {
        params: { path: { projectId } },
        headers: onlyOnce(ctx.io),
        body: {
          title,
          head_ref: head,
          ...(description === undefined ? {} : { description }),
          ...(flags.base === undefined ? {} : { base_ref: flags.base }),
          ...(session ? { session_id: session } : {}),
          ...(flags.draft ? { metadata: { draft: true } } : {}),
        },
      }),
    )
    const { out } = ctx
    if (out.json) out.document(cr)
    else if (out.terminal)
      out.line(
        green('✓ '),
        flags.draft ? 'Opened as a draft ' : 'Opened ',
        bold(`#${cr.number} ${cr.title}`),
        `  ${branch(cr.head_ref, true)} → ${cr.base_ref}`,
      )
    else out.table([cr], changeRequestColumns(ctx))
    for (const doubt of [...warnings, ...(await doubts(api, cr))]) out.warn(doubt)
    const next = ['show', 'diff', 'merge'].map((verb) => ctx.next(`svc cr ${verb} ${cr.number}`))
    const last = flags.draft
      ? `when it is ready: ${ctx.next(`svc cr ready ${cr.number}`)}`
      : `merging is up to a person: ${next[2]}`
    out.note(`${next[0]} · ${next[1]} · ${last}`)
  },
})

const titleMax = 256

function missingTitle(): UsageError {
  return new UsageError('Missing --title <text>', {
    hint: '--fill takes it from the commits of the branch.',
    next: ["svc cr open --title '<text>'", 'svc cr open --fill', 'svc cr open --help'],
  })
}

/** From the commits, and through the editor unless `--fill` says that they are good as they are. */
async function textOf(
  ctx: Context,
  api: ApiClient,
  input: { projectId: string; head: string; flags: { fill: boolean; base?: string | undefined } },
): Promise<{ title: string; description: string }> {
  const { projectId, head, flags } = input
  const query = { head, ...(flags.base === undefined ? {} : { base: flags.base }) }
  const { commits, base_ref: base } = await reply(
    api.GET('/v1/projects/{projectId}/compare', { params: { path: { projectId }, query } }),
  )
  const [newest] = commits
  if (newest === undefined && flags.fill)
    throw new Refusal('nothing_to_push', `${head} has no commit that ${base} does not have`, {
      hint: 'Commit and push first: the title comes from the commits on the server.',
    })
  const filled =
    commits.length === 1
      ? { title: newest!.subject, description: newest!.body.trim() }
      : {
          title: head,
          description: commits
            .map(({ subject }) => `- ${subject}`)
            .toReversed()
            .join('\n'),
        }
  const short = { ...filled, title: filled.title.slice(0, titleMax) }
  if (flags.fill) return short
  const editor = await import('../../editor.ts')
  const text = await editor.edit(
    ctx,
    `${short.title}\n\n${short.description}`,
    `${head} into ${base}. First line: title. Below: description. An empty text opens nothing.`,
  )
  const written = editor.titleAndDescription(text)
  if (written.title === '') throw new Refusal('cancelled', 'The title is empty, so nothing was opened')
  return written
}

/** Outside a sandbox a branch is only assumed where the folder was linked on purpose. */
async function headOfLinkedFolder(ctx: Context): Promise<string> {
  const branchHere = (await ctx.link()) === null ? null : await currentBranch(ctx.io.cwd, ctx.io.env)
  if (branchHere !== null) return branchHere
  throw new UsageError('Missing --head <ref>', {
    hint: 'Outside a sandbox name the branch to merge, or link this folder to the project and run it on that branch.',
    next: ['svc cr open --title <text> --head <ref>', 'svc projects link'],
  })
}

/** What is accepted and may still be a mistake. A doubt that cannot be looked into is dropped: the change request is open. */
async function doubts(api: ApiClient, cr: ChangeRequest): Promise<string[]> {
  const path = { projectId: cr.project_id, crId: cr.cr_id }
  const [preview, others] = await Promise.all([
    reply(api.GET('/v1/projects/{projectId}/change-requests/{crId}/merge-preview', { params: { path } })).catch(
      () => null,
    ),
    changeRequestsOfHead(api, cr.project_id, cr.head_ref, 'open').catch(() => []),
  ])
  const found: string[] = []
  if (preview?.is_up_to_date)
    found.push(`${cr.head_ref} has nothing ahead of ${cr.base_ref} yet: commit and push, the change request follows.`)
  if (preview?.can_merge === false) found.push(`It conflicts with ${cr.base_ref} in ${preview.conflicts.join(', ')}.`)
  const same = others.filter((other) => other.cr_id !== cr.cr_id)
  if (same.length > 0)
    found.push(
      `${same.map((other) => `#${other.number}`).join(', ')} of the same head ${same.length === 1 ? 'is' : 'are'} open too.`,
    )
  return found
}
