/** Deploys, rolls back and stops the two apps of a project while their server is killed at every step. */
import { setTimeout as delay } from 'node:timers/promises'
import type { App, AppDeploy, ErrorBody } from '@svc/contract'
import { commitFiles } from '../repositories.ts'
import { below, type Process, processes } from '../sandbox-leaks.ts'
import { pointsOf } from '../scenarios.ts'
import type { TortureProject, World } from '../world.ts'
import { look } from './ingress.ts'
import { deployed, pushed, rolledBack, stopped, type Version, type Wanted, wantNothing } from './wanted.ts'

export interface AppsReport {
  acts: Record<string, number>
  kills: Record<string, number>
  settledMs: number[]
  problems: string[]
  seen: Process[]
}

interface Run {
  world: World
  project: TortureProject
  random: () => number
  site: Wanted
  pages: Wanted
  report: AppsReport
  made: number
  cookies: Map<string, string>
}

const settledMs = 90_000
const points = pointsOf('apps')
const manifest = [
  '[[apps]]\nslug = "site"\nbuild = "sh build.sh"\ncommand = "BUN_BE_BUN=1 exec svc server.mjs"\n',
  '[[apps]]\nslug = "pages"\nstatic_dir = "public"\nport = 3001\n',
].join('\n')
const program = `const words = require('node:fs').readFileSync('built.txt', 'utf8')
Bun.serve({ port: Number(process.env.PORT), hostname: '127.0.0.1', fetch: () => new Response(words) })
`

export async function tortureApps(world: World, options: { acts: number; random: () => number }): Promise<AppsReport> {
  const report: AppsReport = { acts: {}, kills: {}, settledMs: [], problems: [], seen: [] }
  const { random } = options
  const run: Run = {
    ...{ world, project: world.projects[0]!, random, site: wantNothing('site'), pages: wantNothing('pages') },
    ...{ report, made: 0, cookies: new Map() },
  }
  await push(run, { site: true, pages: true })
  await settled(run, 'at first')
  const waiting: string[] = []
  for (let n = 0; n < options.acts; n++) {
    if (waiting.length === 0) waiting.push(...points)
    const dice = random()
    if (dice < 0.6) await killedAt(run, waiting.splice(Math.floor(random() * waiting.length), 1)[0]!)
    else if (dice < 0.9) await killedSometime(run)
    else await settled(run, await act(run))
  }
  return report
}

/** The server that will die there first restores what it served, then takes the request. */
async function killedAt(run: Run, point: string): Promise<void> {
  const { server } = run.world
  const restored = [run.site, run.pages].filter(({ live }) => live !== null).length
  // Sometimes the server dies while it restores.
  const hit = run.random() < 0.25 ? 1 : restored + 1
  await end(run, null)
  const isUp = await server.start({ sandboxes: true, failpoints: `${point}=kill@${hit}` })
  // Repeats the request until the next server responds.
  const acting = act(run)
  const died = isUp
    ? await Promise.race([server.exited.then(() => true), acting.then(() => delay(12_000, false))])
    : true
  await end(run, died ? point : 'later than its point')
  await server.start({ sandboxes: true })
  const what = await acting
  await settled(run, `${what}, killed at ${point}@${hit}`)
}

async function killedSometime(run: Run): Promise<void> {
  const what = await act(run)
  const afterMs = Math.floor(run.random() * 2_500)
  await delay(afterMs)
  await end(run, 'at random')
  await run.world.server.start({ sandboxes: true })
  await settled(run, `${what}, killed ${afterMs} ms later`)
}

async function end(run: Run, where: string | null): Promise<void> {
  const { server } = run.world
  const own = server.isRunning
    ? below(server.pid).filter(({ command }) => /bwrap|svc-entrypoint|svc-agent/.test(command))
    : []
  run.report.seen.push(...own)
  await server.kill()
  if (where !== null) run.report.kills[where] = (run.report.kills[where] ?? 0) + 1
  const deadline = Date.now() + 60_000
  for (;;) {
    const alive = new Map(processes().map(({ pid, command }) => [pid, command]))
    const left = own.filter(({ pid, command }) => command !== '' && alive.get(pid) === command)
    if (left.length === 0) return
    if (Date.now() > deadline) {
      for (const { command } of left) run.report.problems.push(`outlived its server: ${command.slice(0, 100)}`)
      return
    }
    await delay(50)
  }
}

/** One operation on an app, repeated until it gets a response. */
async function act(run: Run): Promise<string> {
  const { random, world, project, site, pages, report } = run
  const app = random() < 0.7 ? site : pages
  const dice = random()
  const kind =
    dice < 0.3 ? 'push' : dice < 0.45 ? 'broken push' : dice < 0.65 ? 'deploy' : dice < 0.82 ? 'rollback' : 'stop'
  report.acts[kind] = (report.acts[kind] ?? 0) + 1
  const name = `${kind} of ${app.slug}`
  if (kind === 'push') await push(run, { site: true, ...(app === pages ? { pages: true } : {}) })
  else if (kind === 'broken push') await push(run, app === site ? { site: false } : { site: true, pages: false })
  else {
    const path = `/v1/projects/${project.id}/apps/${app.slug}/${kind}`
    const reply = await world.insist<{ deploy?: AppDeploy } & ErrorBody>('POST', path, null, `${kind}-${++run.made}`)
    const { deploy } = reply.body
    if (kind === 'stop' && reply.status === 200) stopped(app)
    else if (kind === 'deploy' && reply.status === 202) deployed(app)
    else if (kind === 'rollback' && reply.status === 202 && deploy !== undefined) {
      const to = app.served.get(deploy.rollback_of ?? 0)
      if (to?.commit !== deploy.commit_sha)
        report.problems.push(`${name} went to ${deploy.rollback_of}, which never served`)
      else rolledBack(app, to)
    } else if (reply.status !== 409 || kind !== 'rollback')
      report.problems.push(`${name}: ${reply.status} ${JSON.stringify(reply.body)}`)
  }
  return name
}

/** Commits another version of the site, which every deploy uses, and of the pages that show it. */
async function push(run: Run, good: { site: boolean; pages?: boolean }): Promise<void> {
  const n = ++run.made
  const page = `the page, version ${n}`
  const files: Record<string, string | null> = {
    ...{ 'svc.toml': manifest, 'server.mjs': program, 'words.txt': `the site, version ${n}` },
    'build.sh': good.site ? 'cp words.txt built.txt\n' : `echo cannot build ${n}; exit 3\n`,
    ...(good.pages === undefined ? {} : { 'public/index.html': good.pages ? page : null }),
    ...(good.pages === false ? { public: null } : {}),
  }
  const commit = await commitFiles(run.project.dir, files)
  pushed(run.site, { words: `the site, version ${n}`, commit, isGood: good.site })
  // The folder may already be gone.
  const isNews = good.pages === true || (good.pages === false && run.pages.head?.isGood === true)
  if (isNews) pushed(run.pages, { words: page, commit, isGood: good.pages === true })
}

/** Checks both apps in a browser. After a difference it reports it and continues from the actual state. */
async function settled(run: Run, what: string): Promise<void> {
  const began = performance.now()
  for (const app of [run.site, run.pages]) {
    let wrong: string | null = 'nobody looked yet'
    while (wrong !== null && performance.now() - began < settledMs) {
      wrong = await whatIsWrong(run, app)
      if (wrong !== null) await delay(150)
    }
    if (wrong !== null) {
      run.report.problems.push(`after ${what}: ${app.slug} ${wrong}`)
      throw new Error(`${run.report.problems.join('\n')}\n${run.world.server.output.slice(-3000)}`)
    }
  }
  const sandboxes = below(run.world.server.pid).filter(({ command }) => /^(?:\S*\/)?svc-entrypoint/.test(command))
  const serving = [run.site, run.pages].filter(({ live }) => live !== null).length
  if (sandboxes.length !== serving) await untilSandboxes(run, serving, what)
  run.report.settledMs.push(performance.now() - began)
}

/** A replaced deploy may finish its requests first. */
async function untilSandboxes(run: Run, serving: number, what: string): Promise<void> {
  const deadline = Date.now() + 60_000
  const count = () =>
    below(run.world.server.pid).filter(({ command }) => /^(?:\S*\/)?svc-entrypoint/.test(command)).length
  while (count() !== serving && Date.now() < deadline) await delay(100)
  if (count() !== serving)
    run.report.problems.push(`after ${what}: ${count()} sandboxes for ${serving} apps that serve`)
}

async function whatIsWrong(run: Run, wanted: Wanted): Promise<string | null> {
  const { world, project } = run
  const path = `/v1/projects/${project.id}/apps/${wanted.slug}`
  const { status, body: app } = await world.insist<App>('GET', path, null, `look-${Date.now()}`)
  if (status !== 200) return `is answered with ${status}`
  const living = app.deploys.filter((deploy) => deploy.status === 'running' || deploy.status === 'restarting')
  if (living.length > 1) run.report.problems.push(`${wanted.slug}: ${living.length} deploys live at once`)
  for (const { number, ready_at, commit_sha } of app.deploys)
    if (ready_at !== null) wanted.served.set(number, wanted.versions.get(commit_sha)!)
  if (app.next !== null) return `is still on its way: ${JSON.stringify(app.next)}`
  const state = wanted.desired === 'stopped' ? 'stopped' : wanted.live === null ? 'failed' : 'running'
  if (app.state !== state) return `is ${app.state} (${app.reason}) and has to be ${state}`
  if (wanted.hasFailed && (app.deploys[0]?.status !== 'failed' || !app.deploys[0].error))
    return `does not say why its newest deploy failed: ${JSON.stringify(app.deploys[0])}`
  return wanted.live === null ? null : whatIsSeen(run, app, wanted.live)
}

async function whatIsSeen(run: Run, app: App, live: Version): Promise<string | null> {
  if (app.live?.commit_sha !== live.commit) return `is made from ${app.live?.commit_sha}, and not ${live.commit}`
  try {
    const cookie = run.cookies.get(app.slug) ?? (await signIn(run, app.slug))
    const { status, text } = await look(`${app.url}/`, cookie)
    if (status === 200 && text === live.words) return null
    if (status === 302 || status === 303) run.cookies.delete(app.slug)
    return `shows ${status} ${JSON.stringify(text.slice(0, 100))}, and not ${JSON.stringify(live.words)}`
  } catch (error) {
    return `cannot be seen: ${String(error)}`
  }
}

async function signIn({ world, project, cookies }: Run, slug: string): Promise<string | null> {
  const path = `/v1/projects/${project.id}/apps/${slug}/open`
  const { body } = await world.insist<{ url: string }>('GET', path, null, `open-${Date.now()}`)
  const { cookie } = await look(body.url, null)
  if (cookie !== null) cookies.set(slug, cookie)
  return cookie
}
