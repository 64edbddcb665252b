import type { ChangeRequest } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { openPage, projectPage } from '../../browser/dashboard.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { currentBranch } from '../../git/git.ts'
import { bold, green } from '../../terminal/output.ts'
import { valueOrStdin } from '../../terminal/read-stdin.ts'
import { changeRequestsOfHead } from './find.ts'
import { changeRequestColumns } from './cr.ts'
import { guideUnpushed } from './unpushed-head.ts'
import { branch } from './labels.ts'
import type { ProjectClient } from '../../requests.ts'

export const open = command({
  summary: 'Open a change request',
  about: [
    "In a sandbox, the head is the session branch and the change request records the session. Elsewhere pass --head, or run it in a linked folder on the branch to propose. The base is the project's default branch.",
  ],
  scope: 'project',
  flags: {
    title: {
      kind: 'text',
      summary: 'Title, in one line; on a terminal the default is your editor',
      value: 'text',
      short: 't',
    },
    fill: { kind: 'switch', summary: 'Title and description from the commits of the branch', short: 'f' },
    draft: { kind: 'switch', summary: 'Prevent merging until svc cr ready', short: 'd' },
    web: { kind: 'switch', summary: 'Open the page in the browser to fill it in', short: 'w' },
    description: {
      kind: 'text',
      summary: 'Description for reviewers; - reads stdin',
      value: 'text',
      aliases: ['body'],
      short: 'b',
    },
    head: {
      kind: 'text',
      summary: 'Branch to merge (default: $SVC_BRANCH_NAME, $SVC_HEAD_REF)',
      value: 'ref',
      aliases: ['from'],
      short: 'H',
    },
    base: {
      kind: 'text',
      summary: 'Branch to merge into (default: the default branch)',
      value: 'ref',
      aliases: ['into'],
      short: 'B',
    },
    session: { kind: 'text', summary: 'Session that created it (default: $SVC_SESSION_ID)', value: 'id' },
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
    if (flags.web)
      return openPage(
        ctx,
        `${projectPage(await ctx.project.id(), 'change-requests', 'new')}?head=${encodeURIComponent(head)}`,
      )
    const found = flags.title === undefined ? await textOf(ctx, head, flags) : null
    const title = flags.title ?? found!.title
    const description = given ?? found?.description
    const opened = ctx.project.warned.post('/change-requests', {
      once: true,
      body: {
        title,
        head_ref: head,
        description,
        base_ref: flags.base,
        ...(session ? { session_id: session } : {}),
        ...(flags.draft ? { metadata: { draft: true } } : {}),
      },
    })
    const { data: cr, warnings } = await opened.catch(async (error: unknown) => {
      throw await guideUnpushed(ctx, head, error)
    })
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
    for (const warning of [...warnings, ...(await openWarnings(ctx.project, cr))]) out.warn(warning)
    const next = ['show', 'diff', 'merge'].map((verb) => ctx.next(`svc cr ${verb} ${cr.number}`))
    const merge = env.SVC_SESSION_ID ? `only a user can merge: ${next[2]}` : next[2]
    const last = flags.draft ? `when it is ready: ${ctx.next(`svc cr ready ${cr.number}`)}` : merge
    out.note(`${next[0]} · ${next[1]} · ${last}`)
  },
})

const titleMax = 256

function missingTitle(): UsageError {
  return new UsageError('Missing --title <text>', {
    hint: '--fill takes the title from the commits of the branch.',
    next: ["svc cr open --title '<text>'", 'svc cr open --fill', 'svc cr open --help'],
  })
}

/** Fills in the text from the commits, and opens the editor unless `--fill` is set. */
async function textOf(
  ctx: Context,
  head: string,
  flags: { fill: boolean; base: string | undefined },
): Promise<{ title: string; description: string }> {
  const compared = ctx.project.get('/compare', { query: { head, base: flags.base } })
  const { commits, base_ref: base } = await compared.catch(async (error: unknown) => {
    throw await guideUnpushed(ctx, head, error)
  })
  const [newest] = commits
  if (newest === undefined && flags.fill)
    throw new Refusal('nothing_to_push', `${head} has no commits ahead of ${base}`, {
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
  const editor = await import('../../terminal/editor.ts')
  const text = await editor.edit(
    ctx,
    `${short.title}\n\n${short.description}`,
    `${head} into ${base}. First line: title. Below: description. An empty text opens nothing.`,
  )
  const written = editor.titleAndDescription(text)
  if (written.title === '') throw new Refusal('cancelled', 'The title is empty, so nothing was opened')
  return written
}

/** Outside a sandbox, assumes the current branch only in a linked folder. */
async function headOfLinkedFolder(ctx: Context): Promise<string> {
  const branchHere = (await ctx.link()) === null ? null : await currentBranch(ctx.io.cwd, ctx.io.env)
  if (branchHere !== null) return branchHere
  throw new UsageError('Missing --head <ref>', {
    hint: 'Outside a sandbox, name the branch to merge, or run this on the branch in a linked folder.',
    next: ['svc cr open --title <text> --head <ref>', 'svc projects link'],
  })
}

/** Warns about likely mistakes. A failed check is ignored: the change request is already open. */
async function openWarnings(project: ProjectClient, cr: ChangeRequest): Promise<string[]> {
  const [preview, others] = await Promise.all([
    project
      .changeRequest(cr.cr_id)
      .get('/merge-preview')
      .catch(() => null),
    changeRequestsOfHead(project, cr.head_ref, 'open').catch(() => []),
  ])
  const found: string[] = []
  if (preview?.is_up_to_date)
    found.push(
      `${cr.head_ref} has no commits ahead of ${cr.base_ref} yet: commit and push to add them to the change request.`,
    )
  if (preview?.can_merge === false) found.push(`It conflicts with ${cr.base_ref} in ${preview.conflicts.join(', ')}.`)
  const same = others.filter((other) => other.cr_id !== cr.cr_id)
  if (same.length > 0)
    found.push(
      `${same.map((other) => `#${other.number}`).join(', ')} with the same head ${same.length === 1 ? 'is' : 'are'} also open.`,
    )
  return found
}
