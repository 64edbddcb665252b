/** The rules of CONTRIBUTING.md as functions over the sources. Each answers one line per violation, with file and target. */
import { dirname, join, normalize } from 'node:path'

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
const isTest = (path: string) =>
  /\.test\.\w+$|(^|\/)(testing|fake|stub)[\w-]*\.\w+$|-stand-in\.\w+$|(^|\/)testing\//.test(path)
const isProgram = (path: string) => /^packages\/[\w-]+\/src\//.test(path) && source.test(path) && !isTest(path)
const roomOf = (path: string) => /^packages\/([\w-]+)\//.exec(path)?.[1] ?? null

/** Which of our packages a package may import. */
const mayImport: Record<string, string[]> = {
  contract: [],
  git: [],
  sandbox: [],
  server: ['contract', 'git', 'sandbox'],
  daemon: ['contract', 'git'],
  cli: ['contract', 'git'],
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
  ['sessions'],
  ['change-requests'],
  ['triggers', 'apps', 'channels', 'checks', 'connectors', 'models', 'webhooks'],
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
    .filter(({ path }) => path.startsWith('packages/git/src/') && isProgram(path) && !path.endsWith('/git.ts'))
    .filter(({ path, text }) => spawns(path, text))
    .map(({ path }) => `${path}: spawns a process: only git.ts does`)

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
  return ['packages/cli/src/main.ts', 'packages/daemon/src/main.ts', 'packages/daemon/src/entrypoint.ts'].flatMap(
    (entry) => {
      const way = wayTo('zod', entry, byPath)
      return way === null ? [] : [`${entry}: loads zod by ${way.slice(1).join(' → ')}`]
    },
  )
}

/** Where this was written and where its packages came from is nobody's business. */
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
