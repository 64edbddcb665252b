/**
 * Decides whether an agent may read the log of an app and the failure reasons of its deploys, which quote the program.
 * Both are redacted, and requests can put text into them, so an agent without a secret of the app could confirm its
 * guesses of that secret (docs/decisions/0026).
 */
import { secretsNamedIn, ServiceError } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { namesGiven } from '../../secrets/given-store.ts'
import { type AppRow, type DeployRow, definitionsOf } from '../store.ts'

type OfProject = { project_id: string; slug?: string }

/**
 * The deploys whose log and reasons a reader may see. `sessionId` is null for a person. A session may read an app once it
 * was given every secret that any stored deploy of the app names.
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

export async function requireReadable(
  deps: Pick<Deps, 'db'>,
  sessionId: string | null,
  { app, deploy }: { app: AppRow; deploy: DeployRow | null },
): Promise<void> {
  if (deploy === null || (await readableDeploys(deps, sessionId, app))(deploy.deploy_id)) return
  throw new ServiceError(
    'forbidden',
    'This app uses a secret that your session does not have, so only people can read its log.',
    { hint: `Ask a person to read it: svc apps logs ${app.slug}` },
  )
}

export async function withReadableReasons(
  deps: Pick<Deps, 'db'>,
  sessionId: string | null,
  { app, deploys }: { app: OfProject; deploys: DeployRow[] },
): Promise<DeployRow[]> {
  if (deploys.every(({ error }) => error === null)) return deploys
  const mayRead = await readableDeploys(deps, sessionId, app)
  return deploys.map((row) => (row.error === null || mayRead(row.deploy_id) ? row : { ...row, error: withheld }))
}

const withheld = 'Ask a person for the reason: this app uses a secret that your session does not have.'
