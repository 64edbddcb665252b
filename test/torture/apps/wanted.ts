/** The state that the apps must reach, computed from the operations alone. */

export interface Version {
  /** The text of its page. */
  words: string
  commit: string
  /** Whether it builds. */
  isGood: boolean
}

export interface Wanted {
  slug: string
  desired: 'running' | 'stopped'
  /** The manifest on the default branch. */
  head: Version | null
  /** The deploy that serves after the last operation has finished. */
  live: Version | null
  /** By commit. */
  versions: Map<string, Version>
  /** One entry for each deploy that was seen to serve. */
  served: Map<number, Version>
  /** The last attempt failed before it served; its row has the reason. */
  hasFailed: boolean
}

export function wantNothing(slug: string): Wanted {
  return { slug, desired: 'running', head: null, live: null, versions: new Map(), served: new Map(), hasFailed: false }
}

/** The default branch has a newer version. A stopped app stays stopped. */
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
