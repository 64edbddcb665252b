/**
 * What an agent reads of an app. A log is searched for the secrets of the app, and a request can put text into it: an agent
 * without one of these secrets could ask by its guesses whether they are right (docs/decisions/0026).
 */
import { type App, secretsNamedIn, ServiceError } from '@svc/contract'
import { type Actor, boundSession } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import { namesGiven } from '../secrets/given-store.ts'
import { type AppRow, listDeploys } from './store.ts'

/** Throws unless the actor's session, if it is bound to one, was given every secret that the app was deployed with. */
export async function requireSecretsOf(deps: Pick<Deps, 'db'>, actor: Actor, app: AppRow): Promise<void> {
  const session = boundSession(actor)
  if (session === null) return
  const deploys = await listDeploys(deps.db, app)
  const named = deploys.flatMap(({ definition }) => secretsNamedIn(definition.env))
  if (named.length === 0) return
  const given = await namesGiven(deps.db, session)
  if (named.every((name) => given.has(name))) return
  throw new ServiceError(
    'forbidden',
    'This app runs with a secret that your session was not given, so its log is for people.',
    {
      hint: 'Ask a person to read it: svc apps logs ' + app.slug,
    },
  )
}

/** Reasons of deploys quote the program, too. */
export async function shownTo(deps: Pick<Deps, 'db'>, actor: Actor, apps: App[]): Promise<App[]> {
  const session = boundSession(actor)
  if (session === null || apps.every(({ secrets }) => secrets.length === 0)) return apps
  const given = await namesGiven(deps.db, session)
  const quiet = <D extends { error: string | null } | null>(deploy: D): D =>
    deploy === null || deploy.error === null
      ? deploy
      : { ...deploy, error: 'Ask a person for the reason: the app runs with a secret that your session was not given.' }
  return apps.map((app) =>
    app.secrets.every((name) => given.has(name))
      ? app
      : { ...app, live: quiet(app.live), next: quiet(app.next), deploys: app.deploys.map(quiet) },
  )
}
