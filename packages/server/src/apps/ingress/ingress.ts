/** Apps on their own origins, `http://<app>--<project>.<preview domain>`. */
import type { IncomingMessage } from 'node:http'
import type { App } from '@svc/contract'
import { LRUCache } from 'lru-cache'
import type { Deps } from '../../deps.ts'
import type { IngressHandler } from '../../http/ingress.ts'
import type { Message } from '../../http/message-page.ts'
import { getProject } from '../../projects/store.ts'
import { brokenWords, comingBack, reloads } from '../../sandboxes/origin-page.ts'
import { ownPath, privateOriginIngress, redirect, type Viewer } from '../../sandboxes/private-origin.ts'
import { isPreview } from '../apply-manifest.ts'
import { appOf } from '../read.ts'
import { type AppRow, getAppByHost } from '../store.ts'

const pathCharsMax = 2000

/** Takes the host names of apps below the preview domain. All others are previews. */
export function appIngress(deps: Deps): IngressHandler {
  const known = new LRUCache<string, AppRow>({ max: 1_000, ttl: 1_000 })
  return privateOriginIngress<AppRow, 'app_grants'>(deps, {
    noun: 'app',
    grants: 'app_grants',
    grantedPlace: ({ project_id, slug }) => ({ project_id, slug }),
    addressHint: {
      text: 'A URL has the form <app>--<project>.<preview domain>. To list the apps of a project:',
      command: 'svc apps ls',
    },
    takes: (label) => /^[a-z0-9-]+--[a-z0-9-]+$/.test(label) && !isPreview(label),
    async placeOf(label) {
      const cached = known.get(label)
      if (cached !== undefined) return cached
      const app = await getAppByHost(deps.db, label)
      if (app !== null) known.set(label, app)
      return app
    },
    projectOf: ({ project_id: projectId }) => Promise.resolve({ projectId, sessionId: null }),
    targetOf: (app, viewer) => targetOf(deps, app, viewer),
    openCommand: ({ slug }) => `svc apps open ${slug}`,
    signIn: (request, app) => signIn(deps, request, app),
    failed: () => brokenWords('The app'),
  })
}

async function targetOf(deps: Deps, app: AppRow, viewer: Viewer) {
  const { project_id: projectId, slug } = app
  const serving = deps.apps.serving(projectId, slug)
  if (serving === null)
    return { words: notRunningWords(await appOf(deps, { projectId, slug, readerSessionId: viewer.sessionId })) }
  const { daemon, sandboxId, port } = serving
  return {
    daemon: { socket: daemon.socket, sandboxKey: daemon.key, sessionId: sandboxId, generation: 1 },
    port,
    // A replaced deploy waits for open requests, but not for sockets, which may stay open for days.
    onRequest(response: NodeJS.EventEmitter) {
      serving.open++
      response.on('close', () => serving.open--)
    },
  }
}

/** Sends a page of a browser to the dashboard, which authenticates the user and opens the app. */
async function signIn(deps: Deps, request: IncomingMessage, app: AppRow): Promise<Response | null> {
  const { method, headers } = request
  const isPage = method === 'GET' && (headers.accept ?? '').includes('text/html')
  const isFramed = ['iframe', 'frame', 'embed', 'object'].includes(String(headers['sec-fetch-dest']))
  const project = isPage && !isFramed ? await getProject(deps.db, app.project_id) : null
  if (project === null) return null
  const to = new URL(`/projects/${project.project_id}/apps/${app.slug}/open`, deps.config.publicUrl)
  to.searchParams.set('path', ownPath(request.url ?? '/').slice(0, pathCharsMax))
  return redirect(to.href)
}

/** The page at the address of an app that is not running on this server. */
function notRunningWords({ slug, state, reason }: Pick<App, 'slug' | 'state' | 'reason'>): Message {
  const code = 'unavailable' as const
  switch (state) {
    case 'deploying':
    case 'waiting':
      return { code, title: 'The app is deploying', ...reloads }
    case 'restarting':
      return { code, title: 'The app is restarting', ...reloads, text: `${reason ?? ''} ${reloads.text}`.trim() }
    case 'running':
      return { code, title: 'The app is coming back', ...reloads, text: `${comingBack} ${reloads.text}` }
    case 'stopped':
      return { code, title: 'The app is stopped', text: 'To start it:', command: `svc apps deploy ${slug}` }
    case 'failed':
      return { code, title: 'The app failed', text: reason ?? 'To read its log:', command: `svc apps logs ${slug}` }
    case 'disabled':
    case 'off':
      return { code, title: 'The app is not deployed', text: reason ?? '' }
    default:
      return state satisfies never
  }
}
