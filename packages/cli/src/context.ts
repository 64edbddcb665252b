/** The context of a command. Each part is loaded on first use, so a command pays only for what it needs. */
import type { Globals } from './arguments/command.ts'
import { type Config, configPath, isOpenToOthers, readConfig } from './config/config-file.ts'
import { Refusal } from './errors.ts'
import { activeHostName, type ChosenHost, chooseHost, environmentOrigin, tokenFor } from './config/hosts.ts'
import type { Filter } from './terminal/filter.ts'
import type { Io } from './io.ts'
import { findLink, type Link } from './config/link-file.ts'
import { createOutput, type Output } from './terminal/output.ts'
import { inProject, quote, withSettings } from './arguments/shell-word.ts'
import { type Client, clientOver, type Connection, type ProjectClient } from './requests.ts'

export interface Context {
  io: Io
  out: Output
  globals: Globals
  configPath(): string
  config(): Promise<Config>
  link(): Promise<Link | null>
  host(): Promise<ChosenHost>
  /** Its first request prints the host, and connects with the token. */
  api: Client
  /** The project's id: `--project`, SVC_PROJECT_ID, the link file, then the remotes of the git repository. */
  projectId(): Promise<string>
  /** The same; null when nothing here names one. */
  findProject(): Promise<string | null>
  /** Whether a project is named or this folder is linked. */
  chosenProject(): Promise<boolean>
  /** The client of that project. */
  project: ProjectClient
  /** A suggested command with the flags and the settings it needs here. */
  next(command: string): string
  /** Whether a user can answer a prompt. */
  interactive: boolean
  /** For commands that name the lines of the settings file which cannot be parsed, and go on without them. */
  skipsBrokenLines?: boolean
}

export function createContext(io: Io, globals: Globals, filter: Filter | null = null): Context {
  const out = createOutput(io, { json: globals.json, noColor: globals['no-color'], filter })
  const api = clientOver(once(() => openApi(ctx)))
  const ctx: Context = {
    io,
    out,
    globals,
    get interactive() {
      return io.stdin.isTTY === true && io.stderr.isTTY && !globals.json
    },
    next: (command) => withSettings(inProject(command, globals.project), io.env),
    configPath: () => configPath(io),
    config: once(() => readConfig(configPath(io))),
    link: once(() => findLink(io.cwd)),
    host: once(async () => {
      const config = await ctx.config()
      const needsLink = globals.host === undefined && !io.env.SVC_API_URL
      return chooseHost({ flag: globals.host, env: io.env, link: needsLink ? await ctx.link() : null, config })
    }),
    api,
    projectId: once(async () => (await ctx.findProject()) ?? Promise.reject(await noProject(ctx))),
    findProject: once(() => findProject(ctx)),
    chosenProject: async () => Boolean(globals.project ?? io.env.SVC_PROJECT_ID) || (await ctx.link()) !== null,
    project: api.project(() => ctx.projectId()),
  }
  return ctx
}

async function openApi(ctx: Context): Promise<Connection> {
  const host = await ctx.host()
  const config = await ctx.config()
  const token = tokenFor(host, { env: ctx.io.env, config })
  sayHost(ctx, host)
  if (token === null) throw noToken(ctx, host, config)
  if (Object.hasOwn(config.tokens, host.origin) && (await isOpenToOthers(ctx.configPath())))
    ctx.out.warn(
      `Other users can read ${ctx.configPath()}, which contains tokens: chmod 600 ${quote(ctx.configPath())}`,
    )
  const { openConnection } = await import('./api.ts')
  let shown = ''
  return openConnection(ctx.io, host, token, {
    show(progress) {
      // A command that shows what it does says more than this.
      if (progress === undefined && ctx.out.isPassing()) return
      shown = progress ?? `waiting for ${host.name}…`
      ctx.out.passing(shown)
    },
    hide: () => ctx.out.clearPassing(shown),
  })
}

export function sayHost(ctx: Context, host: ChosenHost): void {
  const why = { flag: '', environment: ' (SVC_API_URL)', link: ' (.svc/link.json)', active: '' }[host.source]
  const named = host.base.endsWith(`//${host.name}`) ? host.base : `${host.name} · ${host.base}`
  ctx.out.note(`${named}${why}`)
}

function noToken(ctx: Context, host: ChosenHost, config: Config): Refusal {
  const environment = Boolean(ctx.io.env.SVC_CLI_TOKEN || ctx.io.env.SVC_EXECUTOR_TOKEN)
  // Explain why an available token is not used.
  const held = environment
    ? ` The token from the environment is only sent to ${environmentOrigin({ env: ctx.io.env, config }) ?? 'no host'}.`
    : ''
  const active = activeHostName(config)
  const other = active === host.name ? '' : ` --host ${active} asks the active host instead.`
  const login = host.source === 'active' ? 'svc login' : `svc login --host ${host.name}`
  return new Refusal('no_token', `Not signed in to ${host.name} (${host.base})`, {
    hint:
      host.source === 'link'
        ? `.svc/link.json names this host: sign in only if you trust it.${other}${held}`
        : `Sign in with svc login. Without a browser, it takes a token, or a link of svc self-host owner-link.${held}`,
    next: [login, `${login} --token -`, `${login} --link -`],
  })
}

async function findProject(ctx: Context): Promise<string | null> {
  const name = ctx.globals.project ?? ctx.io.env.SVC_PROJECT_ID
  if (name) {
    const { resolveProjectId } = await import('./commands/projects/find.ts')
    return resolveProjectId(ctx.api, name)
  }
  const link = await ctx.link()
  if (link !== null) return link.project_id
  const { projectOfRemotes } = await import('./git/project-from-remote.ts')
  return projectOfRemotes(ctx, await isSignedIn(ctx))
}

async function isSignedIn(ctx: Context): Promise<boolean> {
  return tokenFor(await ctx.host(), { env: ctx.io.env, config: await ctx.config() }) !== null
}

async function noProject(ctx: Context): Promise<Refusal> {
  const login = (await isSignedIn(ctx)) ? [] : ['svc login']
  return new Refusal('no_project', 'No project is chosen', {
    hint: 'Link this folder to a project, or name one with --project.',
    next: [...login, 'svc projects link', 'svc projects ls', 'svc projects create'],
  })
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null
  return () => (made ??= { value: make() }).value
}
