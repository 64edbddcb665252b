/**
 * Whether an agent may read what an app wrote: its log, and the reasons of its deploys, which quote the program. Both are
 * searched for the secrets of the app, and a request can put text into them: an agent without one of these secrets could
 * ask by its guesses whether they are right (docs/decisions/0026).
 */
import { secretsNamedIn, ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { namesGiven } from '../secrets/given-store.ts'
import { type AppRow, type DeployRow, definitionsOf } from './store.ts'

type OfProject = { project_id: string; slug?: string }

/**
 * The deploys whose log and reasons a reader may see. `sessionId` is the session it is bound to; null is a person. A session
 * reads an app once it was given every secret that any kept deploy of the app names. A deploy that is not kept is unreadable.
 */
export async function readableDeploys(
  deps: Pick<Deps, 'db'>,
  sessionId: string | null,
  app: OfProject,
): Promise<(deployId: string) => boolean> {
  if (sessionId === null) return () => true
  const deploys = await definitionsOf(deps.db, app)
  const given = await namesGiven(deps.db, sessionId)
  const isGiven = ({ definition }: (typeof deploys)[number]) =>
    secretsNamedIn(definition.env).every((name) => given.has(name))
  const closed = new Set(deploys.filter((deploy) => !isGiven(deploy)).map(({ slug }) => slug))
  const readable = new Set(deploys.filter(({ slug }) => !closed.has(slug)).map(({ deploy_id }) => deploy_id))
  return (deployId) => readable.has(deployId)
}

/** Throws unless the reader may see the log of this deploy. */
export async function requireReadable(
  deps: Pick<Deps, 'db'>,
  sessionId: string | null,
  { app, deploy }: { app: AppRow; deploy: DeployRow | null },
): Promise<void> {
  if (deploy === null || (await readableDeploys(deps, sessionId, app))(deploy.deploy_id)) return
  throw new ServiceError(
    'forbidden',
    'This app runs with a secret that your session was not given, so its log is for people.',
    { hint: `Ask a person to read it: svc apps logs ${app.slug}` },
  )
}

/** The rows as the reader sees them. */
export async function withReadableReasons(
  deps: Pick<Deps, 'db'>,
  sessionId: string | null,
  { app, deploys }: { app: OfProject; deploys: DeployRow[] },
): Promise<DeployRow[]> {
  if (deploys.every(({ error }) => error === null)) return deploys
  const mayRead = await readableDeploys(deps, sessionId, app)
  return deploys.map((row) => (row.error === null || mayRead(row.deploy_id) ? row : { ...row, error: withheld }))
}

const withheld = 'Ask a person for the reason: the app runs with a secret that your session was not given.'
