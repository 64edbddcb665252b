/** The rules of CONTRIBUTING.md as functions over the sources. Each answers one line per violation, with file and target. */
import { basename, dirname, join, normalize } from 'node:path'

export interface SourceFile {
  path: string
  text: string
}

export interface Import {
  target: string
  /** `import type`, which is gone at run time. */
  isType: boolean
  isLazy: boolean
}

export type Rule = (files: SourceFile[]) => string[]

const source = /\.(ts|tsx|mjs)$/
/** Tests, their helpers, and the stand-ins they use. */
export const isTest = (path: string) =>
  /\.test\.\w+$|(^|\/)(testing|test-app|fake|stub)[\w-]*\.\w+$|-stand-in\.\w+$|(^|\/)testing\//.test(path)
const isProgram = (path: string) => /^packages\/[\w-]+\/src\//.test(path) && source.test(path) && !isTest(path)
const roomOf = (path: string) => /^packages\/([\w-]+)\//.exec(path)?.[1] ?? null

/** The packages that each package may import. */
const mayImport: Record<string, string[]> = {
  contract: [],
  git: [],
  link: [],
  sandbox: ['link'],
  server: ['contract', 'git', 'sandbox'],
  daemon: ['contract', 'git', 'link'],
  cli: ['contract', 'git', 'sdk'],
  sdk: ['contract'],
  dashboard: ['contract'],
  svc: ['server', 'daemon', 'cli'],
}

export const packageImports: Rule = (files) =>
  eachImport(files, (file, found) => {
    const room = roomOf(file.path)
    if (room === null) return null
    const target = packageOf(file.path, found.target)
    if (target === null || target === room) return null
    if (!mayImport[room]?.includes(target)) return `imports ${found.target}: ${room} may not import ${target}`
    if (file.path === 'packages/svc/src/main.ts' && !found.isLazy)
      return `imports ${found.target} at once: the program loads its parts lazily`
    if (found.target.startsWith('.')) return `imports ${found.target}: reach another package by its name`
    return null
  })

/** Only leftwards; the last row's members do not know each other. */
const resourceOrder = [
  ['accounts'],
  ['projects'],
  ['tokens'],
  ['secrets'],
  ['sandboxes'],
  ['sessions'],
  ['change-requests'],
  ['triggers', 'apps', 'channels', 'checks', 'connectors', 'models', 'webhooks', 'inbox', 'search'],
]

export const resourceImports: Rule = (files) =>
  eachImport(files, (file, found) => {
    if (!isProgram(file.path)) return null
    const from = resourceOf(file.path)
    const to = resourceOf(resolved(file.path, found.target))
    if (from === null || to === null || from === to) return null
    return rank(to) < rank(from) ? null : `imports ${found.target}: ${from} may not know ${to}`
  })

export const routesImportedByAppAlone: Rule = (files) =>
  eachImport(files, (file, found) => {
    if (!file.path.startsWith('packages/server/src/') || isTest(file.path)) return null
    const target = resolved(file.path, found.target)
    const isRoutes = target.endsWith('/routes.ts') && target.startsWith('packages/server/src/')
    return isRoutes && file.path !== 'packages/server/src/app.ts' ? `imports ${found.target}: only app.ts does` : null
  })

export const uiImports: Rule = (files) =>
  eachImport(files, (file, found) => {
    if (!file.path.startsWith('packages/dashboard/src/ui/')) return null
    const target = resolved(file.path, found.target)
    const isForeign = found.target.startsWith('@svc/') || /^packages\/dashboard\/src\/(?!ui\/)/.test(target)
    return isForeign ? `imports ${found.target}: ui knows nothing of ours` : null
  })

export const gitSpawnsInOneFile: Rule = (files) =>
  files
    .filter(
      ({ path }) =>
        path.startsWith('packages/git/src/') && isProgram(path) && path !== 'packages/git/src/process/git.ts',
    )
    .filter(({ path, text }) => spawns(path, text))
    .map(({ path }) => `${path}: spawns a process: only process/git.ts does`)

/** The daemon's two entrances hand their environment on whole: one to its config.ts, one to its child. */
const environmentReaders = new Set([
  'packages/server/src/config.ts',
  'packages/daemon/src/config.ts',
  'packages/daemon/src/main.ts',
  'packages/daemon/src/entrypoint.ts',
])

export const environmentInConfigAlone: Rule = (files) =>
  eachLine(files, ({ path }, line) => {
    if (!/^packages\/(server|daemon)\/src\//.test(path) || !isProgram(path) || environmentReaders.has(path)) return null
    return /\b(process|Bun)\.env\b/.test(code(line)) ? 'reads the environment: only config.ts does' : null
  })

export const statusNumbersInErrorsAlone: Rule = (files) =>
  eachLine(files, ({ path }, line) => {
    if (!isProgram(path) || path === 'packages/contract/src/errors.ts') return null
    return /\bstatus: [45]\d\d\b|\.status\([45]\d\d\)|HTTPException/.test(code(line))
      ? 'writes an HTTP status: throw a ServiceError, whose code decides it'
      : null
  })

/** The client's io.ts ends on the second Ctrl-C, and PID 1 of a sandbox has to end by itself. */
export const noProcessExit: Rule = (files) =>
  eachLine(files, ({ path }, line) =>
    /^packages\/(server|cli\/src\/(?!io\.ts))/.test(path) && isProgram(path) && /\bprocess\.exit\(/.test(code(line))
      ? 'cuts its output short: set process.exitCode'
      : null,
  )

export const noAttic: Rule = (files) =>
  files
    .filter(({ path }) =>
      dirname(path)
        .split('/')
        .some((folder) => /^(utils?|shared|core|common|helpers?|misc|lib)$/.test(folder)),
    )
    .map(({ path }) => `${path}: lies in a room without a noun`)

export const noBarrels: Rule = (files) =>
  eachLine(files, ({ path }, line) =>
    source.test(path) && !/\/(index|testing)\.ts$/.test(path) && line.startsWith('export * from ')
      ? 'is a barrel'
      : null,
  )

const linesMax = 500

export const shortFiles: Rule = (files) =>
  files
    .filter(({ path }) => source.test(path) && !path.endsWith('.gen.ts'))
    .map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
    .filter(({ lines }) => lines > linesMax)
    .map(({ path, lines }) => `${path}: has ${lines} lines, ${linesMax} are allowed`)

export const noSkippedTests: Rule = (files) =>
  eachLine(files, ({ path }, line) =>
    /\.test\.\w+$/.test(path) && /\b(test|it|describe)\.(skip|only|todo)\b/.test(code(line))
      ? 'leaves tests out'
      : null,
  )

export const kebabCase: Rule = (files) =>
  files
    .filter(({ path }) => /^(packages\/[\w-]+\/src|test|bench|scripts)\//.test(path) && source.test(path))
    .filter(({ path }) => !path.split('/').every((part) => /^[a-z0-9]+([-.][a-z0-9]+)*$/.test(part)))
    .map(({ path }) => `${path}: is not in kebab-case`)

/** zod's schemas cost a client more start time than all the rest of it. */
export const clientsLoadNoSchema: Rule = (files) => {
  const byPath = new Map(files.map((file) => [file.path, file]))
  return [
    'packages/cli/src/main.ts',
    'packages/sdk/src/index.ts',
    'packages/daemon/src/main.ts',
    'packages/daemon/src/entrypoint.ts',
  ].flatMap((entry) => {
    const way = wayTo('zod', entry, byPath)
    return way === null ? [] : [`${entry}: loads zod by ${way.slice(1).join(' → ')}`]
  })
}

/** A server without a collector loads nothing of the SDK. */
export const tracesAreLazy: Rule = (files) =>
  eachImport(files, (file, found) => {
    if (!isProgram(file.path) || found.isType || found.isLazy) return null
    const ofSdk = /^packages\/server\/src\/tracing\/(?:open-telemetry|watched-exporter)\.ts$/
    const isSdk = found.target.startsWith('@opentelemetry/') || ofSdk.test(resolved(file.path, found.target))
    return isSdk && !ofSdk.test(file.path) ? `imports ${found.target}: only tracing/start.ts does, lazily` : null
  })

/** The types of one room may name one another; a larger circle means that everything names everything. */
const typeCircleMax = 6

export const noImportCircles: Rule = (files) => {
  const programs = files.filter(({ path }) => isProgram(path))
  const atRunTime = circlesOf(programs, ({ isType, isLazy }) => !isType && !isLazy)
  const ofTypes = circlesOf(programs, ({ isType, isLazy }) => isType || !isLazy).filter(
    (circle) => circle.length > typeCircleMax,
  )
  return [...atRunTime, ...ofTypes].map((circle) => `${circle[0]}: imports itself by ${circle.slice(1).join(', ')}`)
}

/** SQL is in `*store.ts` and `*queries.ts`, and in db/. */
const isStore = (path: string) => /(^|[/-])(store|queries)\.ts$/.test(path) || path.startsWith(`${server}db/`)
const server = 'packages/server/src/'
const statement =
  /\.(?:selectFrom|insertInto|updateTable|deleteFrom)\(|\bsql(?:<[^`]*>)?`|\b(?:find|lock|insert|update|upsert|take)Row\(|\b(?:list|update|delete)Rows\(|\binsertIfNew\(/

/** Files with SQL that have no store yet, as resource and name. Shrink this list; add nothing to it. */
const sqlOutsideStores = new Set([
  ...['accounts/first-start.ts', 'accounts/identities.ts', 'accounts/owner-link.ts', 'accounts/sign-in-limits.ts'],
  ...['accounts/trusted-devices.ts', 'apps/apply-manifest.ts', 'apps/grants.ts', 'audit/list.ts', 'audit/record.ts'],
  ...['auth/allow.ts', 'auth/credentials.ts', 'auth/dashboard-session.ts', 'auth/session-control.ts'],
  ...['channels/author.ts', 'channels/links.ts', 'channels/post-session.ts', 'channels/prompt.ts'],
  ...['connectors/reconcile.ts', 'keyring/move-data-keys.ts', 'keyring/open-keyring.ts', 'keyring/rotate.ts'],
  ...['sessions/chosen-id.ts', 'sessions/transcript-quota.ts', 'sessions/transcript.ts', 'sessions/descendants.ts'],
  ...['sessions/kept-bytes.ts', 'sessions/phases.ts', 'tokens/cli-login.ts', 'tokens/routes.ts'],
  ...['triggers/reconcile.ts', 'triggers/run-as.ts', 'triggers/webhook-limits.ts'],
])

export const sqlInStores: Rule = (files) =>
  files
    .filter(({ path }) => path.startsWith(server) && isProgram(path) && !isStore(path))
    .filter(({ path }) => !sqlOutsideStores.has(`${folderOf(path)}/${basename(path)}`))
    .filter(({ text }) => text.split('\n').some((line) => statement.test(code(line))))
    .map(({ path }) => `${path}: holds SQL: a store does`)

/** A store of sessions ends the tokens of a session with it. */
const changedElsewhere = new Set(['sessions tokens'])

export const tablesChangedByTheirFolder: Rule = (files) => {
  const changed = new Map<string, Map<string, string>>()
  for (const { path, text } of files) {
    if (!path.startsWith(server) || !isProgram(path) || path.startsWith(`${server}db/`)) continue
    for (const table of tablesChanged(text)) {
      const folders = changed.get(table) ?? new Map<string, string>()
      changed.set(table, folders)
      if (!changedElsewhere.has(`${folderOf(path)} ${table}`)) folders.set(folderOf(path), path)
    }
  }
  return [...changed].flatMap(([table, folders]) => {
    const [first, ...others] = [...folders].toSorted()
    return others.map(([, path]) => `${path}: changes ${table}, as ${first![0]} does: call a function of its folder`)
  })
}

/** The sources must not reveal the machine they were written on or its package registry. */
export const noMachineTraces: Rule = (files) =>
  eachLine(files, ({ path }, line) => {
    if (/(^|[\s"'`(=:[])\/(root|work)\/\w/.test(line)) return 'names a path of one machine'
    if (path.endsWith('.npmrc') && /registry\s*=/.test(line)) return 'names a registry'
    if (path.endsWith('package-lock.json') && /"resolved": "https?:/.test(line)) return 'names a registry'
    return null
  })

export const rules: Record<string, Rule> = {
  packageImports,
  resourceImports,
  routesImportedByAppAlone,
  uiImports,
  gitSpawnsInOneFile,
  environmentInConfigAlone,
  statusNumbersInErrorsAlone,
  noProcessExit,
  noAttic,
  noBarrels,
  shortFiles,
  noSkippedTests,
  kebabCase,
  clientsLoadNoSchema,
  tracesAreLazy,
  noImportCircles,
  sqlInStores,
  tablesChangedByTheirFolder,
  noMachineTraces,
}

/** Statements begin their line, as the formatter leaves them; a lazy import may stand anywhere. */
export function importsOf(text: string): Import[] {
  const found: Import[] = []
  const statement = /^(?:import|export)\s+(type\s+)?(?:[\w$*{}\s,]+?\s+from\s+)?['"]([^'"\n]+)['"]/gm
  for (const [, type, target = ''] of text.matchAll(statement))
    found.push({ target, isType: type !== undefined, isLazy: false })
  for (const [, type, target = ''] of text.matchAll(/(typeof\s+)?\bimport\(\s*['"]([^'"\n]+)['"]\s*\)/g)) {
    found.push({ target, isType: type !== undefined, isLazy: true })
  }
  return found
}

function wayTo(wanted: string, entry: string, byPath: Map<string, SourceFile>): string[] | null {
  const seen = new Set([entry])
  const ways = [[entry]]
  for (const way of ways) {
    const at = way.at(-1)!
    for (const found of importsOf(byPath.get(at)?.text ?? '')) {
      if (found.isType) continue
      if (found.target === wanted) return [...way, wanted]
      const next = fileOf(at, found.target)
      if (next === null || seen.has(next)) continue
      seen.add(next)
      ways.push([...way, next])
    }
  }
  return null
}

/** Tarjan's strongly connected components of more than one file. */
function circlesOf(files: SourceFile[], counts: (found: Import) => boolean): string[][] {
  const targets = new Map<string, string[]>()
  for (const { path, text } of files) {
    const found = importsOf(text).filter(counts)
    targets.set(
      path,
      found.map(({ target }) => fileOf(path, target)).filter((target) => target !== null),
    )
  }
  const low = new Map<string, number>()
  const stack: string[] = []
  const circles: string[][] = []
  const visit = (path: string): number => {
    const index = low.size
    low.set(path, index)
    stack.push(path)
    let lowest = index
    for (const target of targets.get(path) ?? []) {
      if (!targets.has(target)) continue
      if (!low.has(target)) lowest = Math.min(lowest, visit(target))
      else if (stack.includes(target)) lowest = Math.min(lowest, low.get(target)!)
    }
    low.set(path, lowest)
    if (lowest === index) {
      const circle = stack.splice(stack.indexOf(path))
      if (circle.length > 1) circles.push(circle.toSorted())
    }
    return lowest
  }
  for (const { path } of files) if (!low.has(path)) visit(path)
  return circles
}

function tablesChanged(text: string): Set<string> {
  const built = text.matchAll(/\.(?:insertInto|updateTable|deleteFrom)\(\s*'(\w+)/g)
  const changes = text.matchAll(
    /\b(?:insertRow|insertIfNew|updateRows?|upsertRow|deleteRows|takeRow)\(\s*[\w.#]+,\s*'(\w+)'/g,
  )
  const templates = [...text.matchAll(/\bsql(?:<[^`]*>)?`[^`]*`/g)].map(([template]) => template).join('\n')
  const written = templates.matchAll(/\b(?:insert\s+into|(?<!for |key )update|delete\s+from)\s+(?!set\b)(\w+)/g)
  return new Set([...built, ...changes, ...written].map(([, table]) => table!))
}

function folderOf(path: string): string {
  return path.slice(server.length).split('/')[0]!
}

/** The file of ours that an import means, or null for a package of others. */
function fileOf(from: string, target: string): string | null {
  if (target.startsWith('.')) return resolved(from, target)
  const [, room, rest] = /^@svc\/([\w-]+)(?:\/(.+))?$/.exec(target) ?? []
  if (room === undefined) return null
  const main = { contract: 'index', git: 'index', sandbox: 'index' }[room] ?? 'main'
  return `packages/${room}/src/${rest ?? main}.ts`
}

function packageOf(from: string, target: string): string | null {
  if (target.startsWith('.')) return roomOf(resolved(from, target))
  return /^@svc\/([\w-]+)/.exec(target)?.[1] ?? null
}

function resolved(from: string, target: string): string {
  return target.startsWith('.') ? normalize(join(dirname(from), target)) : target
}

function resourceOf(path: string): string | null {
  const folder = /^packages\/server\/src\/([\w-]+)\//.exec(path)?.[1]
  return folder !== undefined && rank(folder) >= 0 ? folder : null
}

function rank(resource: string): number {
  return resourceOrder.findIndex((row) => row.includes(resource))
}

function spawns(path: string, text: string): boolean {
  const isChildProcess = ({ target, isType }: Import) => /^(node:)?child_process$/.test(target) && !isType
  return source.test(path) && (importsOf(text).some(isChildProcess) || /\bBun\.(spawn|spawnSync|\$)/.test(text))
}

/** The line without a comment at its end; a comment may say what the code may not do. */
function code(line: string): string {
  return line.replace(/^\s*(\*|\/\*).*$/, '').replace(/(^|\s)\/\/.*$/, '')
}

function eachImport(files: SourceFile[], judge: (file: SourceFile, found: Import) => string | null): string[] {
  return files
    .filter(({ path }) => source.test(path))
    .flatMap((file) =>
      importsOf(file.text).flatMap((found) => {
        const what = judge(file, found)
        return what === null ? [] : [`${file.path}: ${what}`]
      }),
    )
}

function eachLine(files: SourceFile[], judge: (file: SourceFile, line: string) => string | null): string[] {
  return files.flatMap((file) =>
    file.text.split('\n').flatMap((line, index) => {
      const what = judge(file, line)
      return what === null ? [] : [`${file.path}:${index + 1}: ${what}`]
    }),
  )
}
