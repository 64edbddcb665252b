import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ReadingGuide } from '@svc/contract'
import type { Files } from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { testProject, type TestProject } from '../testing.ts'

let app: TestApp
let at: TestProject
const moved = [
  'export function retryAfter(response: Response): number {',
  "  const header = response.headers.get('retry-after')",
  '  return header === null ? 0 : Number(header)',
  '}',
]
beforeAll(async () => {
  app = await makeTestApp()
  at = testProject(app, await app.managedProject({ 'src/old.ts': `// old\n${moved.join('\n')}\n// end\n` }))
}, 120_000)
afterAll(() => app.close())

let branches = 0
async function guide(files: Files, query = ''): Promise<ReadingGuide> {
  const cr = await at.open(`guide-${++branches}`, files)
  const { status, body, text } = await app.request<ReadingGuide>('GET', at.path(cr.cr_id, `reading-guide${query}`))
  expect([status, status === 200 ? '' : text]).toEqual([200, ''])
  expect(body.head_sha).toBe(cr.head_commit_sha!)
  return body
}
const paths = ({ order }: ReadingGuide) => order.map(({ path }) => path)

describe('the reading guide', () => {
  test('orders files by imports, and tests after what they test', async () => {
    const found = await guide({
      'package-lock.json': '{}\n',
      'README.md': 'Read\n',
      'src/a-page.tsx':
        "import { send } from './send'\nimport type { Wait } from './types.js'\nexport const page = send\n",
      'src/a-page.test.tsx': "import { page } from './a-page'\n",
      'src/send.ts': "import { wait } from '@/wait/wait'\nexport const send = wait\n",
      'src/types.ts': 'export type Wait = number\n',
      'src/wait/wait.ts': "export { type Wait } from '../types'\nexport const wait = 1\n",
      'src/api.gen.ts': 'export {}\n',
      'test/wait.test.ts': "import { wait } from '../src/wait/wait.ts'\n",
    })
    expect(paths(found)).toEqual([
      ...['src/types.ts', 'src/wait/wait.ts', 'test/wait.test.ts', 'src/send.ts'],
      ...['src/a-page.tsx', 'src/a-page.test.tsx', 'README.md', 'package-lock.json', 'src/api.gen.ts'],
    ])
    expect(found.order[0]).toEqual({ path: 'src/types.ts', kind: 'source', imported_by: 2, tests: null })
    expect(found.order[2]).toMatchObject({ kind: 'test', tests: 'src/wait/wait.ts' })
    expect(found).toMatchObject({ moves: [], truncated: false })
  })

  test.each<[string, Files, string[]]>([
    [
      'Python',
      {
        'app/a_view.py': 'from .model import Model\nfrom app import tools\n',
        'app/model.py': 'import app.tools as tools\n',
        'app/tools.py': 'x = 1\n',
        'tests/test_model.py': 'from app.model import Model\n',
      },
      ['app/tools.py', 'app/model.py', 'tests/test_model.py', 'app/a_view.py'],
    ],
    [
      'Go',
      {
        'cmd/main.go': 'package main\n\nimport (\n\t"fmt"\n\t"example.test/shop/internal/store"\n)\n',
        'internal/store/store.go': 'package store\n',
        'internal/store/store_test.go': 'package store\n',
      },
      ['internal/store/store.go', 'internal/store/store_test.go', 'cmd/main.go'],
    ],
    [
      'Rust',
      {
        'src/a.rs': 'use crate::model::Item;\n',
        'src/main.rs': 'mod a;\nmod model;\n',
        'src/model.rs': 'pub struct Item;\n',
      },
      ['src/model.rs', 'src/a.rs', 'src/main.rs'],
    ],
    [
      'Java',
      {
        'src/main/java/shop/App.java': 'import shop.model.Item;\nimport static shop.model.Tools.run;\n',
        'src/main/java/shop/model/Item.java': 'class Item {}\n',
        'src/main/java/shop/model/Tools.java': 'import shop.model.Item;\n',
      },
      ['src/main/java/shop/model/Item.java', 'src/main/java/shop/model/Tools.java', 'src/main/java/shop/App.java'],
    ],
    [
      'C',
      { 'a.c': '#include <stdio.h>\n#include "lib/b.h"\n', 'lib/b.c': '#include "b.h"\n', 'lib/b.h': 'int b;\n' },
      ['lib/b.h', 'a.c', 'lib/b.c'],
    ],
  ])('knows the imports of %s', async (_, files, order) => {
    expect(paths(await guide(files))).toEqual(order)
  })

  test('goes on in a cycle, and begins with the larger change where imports say nothing', async () => {
    expect(paths(await guide({ 'x.ts': "import './y'\n", 'y.ts': "import './x'\n", 'z.ts': 'a\nb\nc\n' }))).toEqual([
      'z.ts',
      'x.ts',
      'y.ts',
    ])
  })

  test('finds code that moved to another file, with the lines of both places', async () => {
    const files = { 'src/old.ts': '// old\n// end\n', 'src/new.ts': `// new\n${moved.join('\n')}\n` }
    expect((await guide(files)).moves).toEqual([
      { from: { path: 'src/old.ts', line: 2 }, to: { path: 'src/new.ts', line: 2 }, lines: 4, reindented: false },
    ])
    const renamed = { 'src/old.ts': null, 'src/other.ts': `// old\n${moved.join('\n')}\n// end\n` }
    expect((await guide(renamed, '?renames=1')).moves).toEqual([])
  })
})
