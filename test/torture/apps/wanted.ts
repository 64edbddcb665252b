/** What the apps have to be, as somebody knows who did what was done to them. */

export interface Version {
  /** What its page says. */
  words: string
  commit: string
  /** It can be built. */
  isGood: boolean
}

export interface Wanted {
  slug: string
  desired: 'running' | 'stopped'
  /** What the default branch says. */
  head: Version | null
  /** What serves once all is quiet. */
  live: Version | null
  /** By their commits. */
  versions: Map<string, Version>
  /** Of each deploy that was seen to serve. */
  served: Map<number, Version>
  /** The last try did not get to serve: it is told why. */
  hasFailed: boolean
}

export function wantNothing(slug: string): Wanted {
  return { slug, desired: 'running', head: null, live: null, versions: new Map(), served: new Map(), hasFailed: false }
}

/** The default branch has something new for it. One that was stopped stays so. */
export function pushed(app: Wanted, head: Version): void {
  app.head = head
  app.versions.set(head.commit, head)
  if (app.desired === 'running') attempt(app, head)
}

export function deployed(app: Wanted): void {
  app.desired = 'running'
  attempt(app, app.head!)
}

export function rolledBack(app: Wanted, to: Version): void {
  app.desired = 'running'
  attempt(app, to)
}

export function stopped(app: Wanted): void {
  app.desired = 'stopped'
  app.live = null
  app.hasFailed = false
}

function attempt(app: Wanted, version: Version): void {
  app.hasFailed = !version.isGood
  if (version.isGood) app.live = version
}
