import type { ChangeRequest, Project, Session } from '@svc/sdk'
import { tourFirstCommit, tourProjectName, tourSession } from '@svc/contract/schemas/tour'
import { ask } from '../terminal/ask.ts'
import { command } from '../arguments/command.ts'
import type { Context } from '../context.ts'
import { followTurn } from '../conversation/turn.ts'
import { Refusal } from '../errors.ts'
import { bold, cyan, yellow } from '../terminal/output.ts'
import { printConversation } from '../conversation/print.ts'
import { quote } from '../arguments/shell-word.ts'
import { watchStart } from '../conversation/start-phases.ts'
import { getDiff, printPatch } from './cr/review/diff.ts'
import { changeRequestsOfHead } from './cr/find.ts'
import { mergeChangeRequest, printMerge } from './cr/merge.ts'
import type { ProjectClient } from '../requests.ts'

const crWaitMs = 60_000
const lookEveryMs = 500

export const tour = command({
  summary: 'See the whole path in a demo project: prompt, session, change request, merge',
  about: [
    'A scripted model replaces the AI, so it costs nothing and needs no key. Everything else is real: the repository, the sandbox, the push, the change request and the merge.',
  ],
  scope: 'host',
  flags: { yes: { kind: 'switch', summary: 'Merge at the end without asking' } },
  examples: ['svc tour', 'svc tour --yes'],
  async run(ctx, { flags }) {
    await sayWhatAnswers(ctx)

    step(ctx, 1, 'A project with a small web page')
    const project = await ctx.api.post('/v1/projects', { once: true, body: { name: tourProjectName } })
    // Every suggested command from here on, also in an error, must name the project.
    ctx.globals.project = project.slug
    try {
      await showEverything(ctx, project, flags.yes)
    } finally {
      // On failure, remove nothing: the user may want to look at it.
      ctx.out.note('Remove everything, including the repository:')
      ctx.out.note('  $ ', `svc projects rm ${quote(project.slug)} --purge`)
    }
  },
})

async function showEverything(ctx: Context, project: Project, yes: boolean): Promise<void> {
  const { out } = ctx
  const its = ctx.api.project(project.project_id)
  const { branch } = await its.post('/first-commit', { once: true, body: tourFirstCommit })
  out.note(`${project.slug}: ${tourFirstCommit.files.map(({ path }) => path).join(' and ')} on ${branch}`)

  step(ctx, 2, `A session: "${tourSession.initial_prompt}"`)
  const at = its.session((await its.post('/sessions', { once: true, body: tourSession })).session_id)
  const session = await watchStart(ctx, at)

  step(ctx, 3, 'The conversation (scripted model, no AI: shows the real path)')
  // With --json stdout holds one document, so leave out the conversation.
  await followTurn(ctx, at, null, out.json ? {} : printConversation(ctx))

  step(ctx, 4, 'The change request it opened')
  const cr = await waitForChangeRequest(ctx, its, session)
  const diff = await getDiff(its.changeRequest(cr.cr_id))
  if (!out.json) {
    out.line(bold(`#${cr.number} ${cr.title}`))
    await printPatch(ctx, diff.patch, { paged: false })
  }

  step(ctx, 5, 'Your decision: only a merge reaches the default branch')
  const merge = yes || (await ask(ctx, `Merge #${cr.number} into ${cr.base_ref}?`)) === true
  const merged = merge ? await mergeChangeRequest(its.changeRequest(cr.cr_id), cr, undefined) : null
  if (out.json) {
    const now = await its.get('')
    return out.document({
      project: now,
      session,
      change_request: merged?.change_request ?? cr,
      diff,
      merge: merged?.merge ?? null,
    })
  }
  if (merged !== null) printMerge(ctx, merged)
  else out.note('It stays open until you merge it:  ', ctx.next(`svc cr merge ${cr.number}`))
  out.note('Everything is still available:')
  out.note('  $ ', ctx.next(`svc sessions chat ${session.session_id.slice(0, 8)}`))
  out.note('  $ ', ctx.next('svc cr ls --status all'))
}

function step({ out }: Context, number: number, text: string): void {
  out.progress('')
  out.progress(cyan(`${number}/5 `), bold(text))
}

/** The tour's answers are scripted, and it says so. */
async function sayWhatAnswers({ out, api }: Context): Promise<void> {
  const ready = await api.get('/v1/ready')
  if (!ready.sandbox.ready)
    throw new Refusal('not_available', 'This server cannot start sandboxes', {
      hint: ready.sandbox.problem ?? 'Its operator must configure a sandbox driver.',
      next: ready.sandbox.install === null ? ['svc hosts info'] : [ready.sandbox.install],
    })
  out.progress(yellow('! '), 'scripted model, no AI: shows the real path')
  if (ready.model === 'upstream')
    out.note('  This server also has a real model, which your own sessions use; the tour does not.')
}

async function waitForChangeRequest(
  { io, out }: Context,
  project: ProjectClient,
  session: Session,
): Promise<ChangeRequest> {
  const began = io.now()
  while (io.now() - began < crWaitMs) {
    const [found] = await changeRequestsOfHead(project, session.branch_name, 'open')
    if (found !== undefined) return found
    out.passing('waiting for the change request…')
    await io.sleep(lookEveryMs)
  }
  throw new Refusal('timed_out', 'The session opened no change request', {
    next: [`svc sessions info ${session.session_id}`],
  })
}
