import { describe, expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as architecture from './architecture.ts'

const root = join(import.meta.dir, '..')
const binary = /\.(png|ico|woff2?|gz|zip|pack|idx)$/

/** Committed files and files about to be committed, without ignored ones. */
function ourFiles(): architecture.SourceFile[] {
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  return list
    .split('\0')
    .filter((path) => path !== '' && !binary.test(path) && existsSync(join(root, path)))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

describe('the architecture rules hold for the repository', () => {
  const files = ourFiles()
  test('finds the files of the repository', () => expect(files.length).toBeGreaterThan(100))
  for (const [name, rule] of Object.entries(architecture.rules)) {
    test(name, () => expect(rule(files)).toEqual([]))
  }
})

describe('the architecture rules themselves', () => {
  const planted = (rule: architecture.Rule, path: string, text: string, ...more: architecture.SourceFile[]) =>
    rule([{ path, text }, ...more])
  const machinePath = `/${'root'}/x`

  const wrong: [keyof typeof architecture.rules, string, string][] = [
    ['packageImports', 'packages/git/src/a.ts', `import { x } from '@svc/contract'`],
    ['packageImports', 'packages/cli/src/a.ts', `import type { x } from '@svc/server'`],
    ['packageImports', 'packages/dashboard/src/a.tsx', `import { x } from '../../contract/src/x.ts'`],
    ['packageImports', 'packages/svc/src/main.ts', `import { runServer } from '@svc/server'`],
    ['resourceImports', 'packages/server/src/projects/a.ts', `import {\n  x,\n} from '../sessions/store.ts'`],
    ['resourceImports', 'packages/server/src/apps/a.ts', `import { x } from '../models/upstream.ts'`],
    ['routesImportedByAppAlone', 'packages/server/src/tokens/a.ts', `import { x } from './routes.ts'`],
    ['uiImports', 'packages/dashboard/src/ui/form.tsx', `import { x } from '../api.ts'`],
    ['gitSpawnsInOneFile', 'packages/git/src/refs/refs.ts', `import { spawn } from 'node:child_process'`],
    ['environmentInConfigAlone', 'packages/server/src/db/pool.ts', `const url = process.env.DATABASE_URL`],
    ['statusNumbersInErrorsAlone', 'packages/server/src/http/a.ts', `return new Response('', { status: 404 })`],
    ['noProcessExit', 'packages/cli/src/a.ts', `process.exit(1)`],
    ['noAttic', 'packages/server/src/utils/a.ts', ''],
    ['noBarrels', 'packages/server/src/http/all.ts', `export * from './a.ts'`],
    ['shortFiles', 'packages/server/src/a.ts', 'x\n'.repeat(501)],
    ['noSkippedTests', 'packages/server/src/a.test.ts', `test.${'skip'}('x', () => {})`],
    ['kebabCase', 'packages/server/src/mergeButton.ts', ''],
    ['clientsLoadNoSchema', 'packages/cli/src/main.ts', `import { z } from 'zod'`],
    ['tracesAreLazy', 'packages/server/src/http/a.ts', `import { trace } from '@opentelemetry/api'`],
    ['tracesAreLazy', 'packages/server/src/tracing/start.ts', `import { x } from './open-telemetry.ts'`],
    ['sqlInStores', 'packages/server/src/apps/a.ts', `await db.selectFrom('apps').execute()`],
    ['sqlInStores', 'packages/server/src/apps/a.ts', `await deleteRows(db, 'apps', { slug })`],
    ['sqlInStores', 'packages/server/src/apps/a.ts', 'sql<{ at: string }>`select 1`'],
    ['sqlInStores', 'packages/server/src/apps/a.ts', `await findRow(db, 'apps', {})`],
    ['noMachineTraces', 'docs/a.md', `see ${machinePath}`],
    ['noMachineTraces', '.npmrc', 'registry=https://example.test/'],
    ['noMachineTraces', 'package-lock.json', `"resolved": "https://example.test/x.tgz"`],
  ]
  for (const [name, path, text] of wrong) {
    test(`${name} finds what is planted in ${path}`, () => {
      const found = planted(architecture.rules[name]!, path, text)
      expect(found).toHaveLength(1)
      expect(found[0]).toStartWith(path)
    })
  }

  const right: [keyof typeof architecture.rules, string, string][] = [
    ['packageImports', 'packages/server/src/a.ts', `import { x } from '@svc/git'`],
    ['packageImports', 'packages/svc/src/main.ts', `const { runServer } = await import('@svc/server')`],
    ['resourceImports', 'packages/server/src/models/a.ts', `import { x } from '../sessions/store.ts'`],
    ['routesImportedByAppAlone', 'packages/server/src/app.ts', `import { x } from './tokens/routes.ts'`],
    ['gitSpawnsInOneFile', 'packages/git/src/process/git.ts', `import { spawn } from 'node:child_process'`],
    ['environmentInConfigAlone', 'packages/server/src/config.ts', `parseConfig(process.env)`],
    ['environmentInConfigAlone', 'packages/server/src/a.ts', `// process.env is read in config.ts`],
    ['clientsLoadNoSchema', 'packages/cli/src/main.ts', `import type { z } from 'zod'`],
    ['tracesAreLazy', 'packages/server/src/tracing/start.ts', `const { x } = await import('./open-telemetry.ts')`],
    ['sqlInStores', 'packages/server/src/apps/log-store.ts', `await db.selectFrom('apps').execute()`],
  ]
  for (const [name, path, text] of right) {
    test(`${name} accepts ${path}: ${text}`, () => expect(planted(architecture.rules[name]!, path, text)).toEqual([]))
  }

  test('clientsLoadNoSchema follows imports through our files and reports the path', () => {
    const found = planted(
      architecture.clientsLoadNoSchema,
      'packages/cli/src/main.ts',
      `import { x } from './a.ts'`,
      {
        path: 'packages/cli/src/a.ts',
        text: `const { y } = await import('@svc/contract/routes/tokens')`,
      },
      { path: 'packages/contract/src/routes/tokens.ts', text: `import { z } from 'zod'` },
    )
    expect(found).toEqual([
      'packages/cli/src/main.ts: loads zod by packages/cli/src/a.ts → packages/contract/src/routes/tokens.ts → zod',
    ])
  })

  const circle = (statement: string, names: string[]) =>
    names.map((name, index) => ({
      path: `packages/git/src/${name}.ts`,
      text: `${statement} { x } from './${names[(index + 1) % names.length]}.ts'`,
    }))

  test('noImportCircles finds a circle at run time, and a large one of types', () => {
    expect(architecture.noImportCircles(circle('import', ['a', 'b']))).toEqual([
      'packages/git/src/a.ts: imports itself by packages/git/src/b.ts',
    ])
    expect(architecture.noImportCircles(circle('import type', [...'abcdefg']))).toHaveLength(1)
    expect(architecture.noImportCircles(circle('import type', ['a', 'b']))).toEqual([])
  })

  test('tablesChangedByTheirFolder finds a table that two folders change', () => {
    const store = { path: 'packages/server/src/apps/store.ts', text: `db.insertInto('apps')` }
    const of = (text: string) =>
      planted(architecture.tablesChangedByTheirFolder, 'packages/server/src/checks/a.ts', text, store)
    const found = ['packages/server/src/checks/a.ts: changes apps, as apps does: call a function of its folder']
    expect(of(`db\n  .updateTable('apps')`)).toEqual(found)
    expect(of(`await updateRows(db, 'apps', { slug }, { name })`)).toEqual(found)
    expect(of('sql`update apps set name = 1`')).toEqual(found)
    expect(of(`updateRows(\n  db,\n  'apps', {}, set)`)).toEqual(found)
    expect(of(`db.selectFrom('apps')`)).toEqual([])
  })
})
