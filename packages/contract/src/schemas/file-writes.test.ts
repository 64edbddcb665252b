import { describe, expect, test } from 'bun:test'
import { fileWritesOf, type StoredCall } from './file-writes.ts'

const call = (tool: string, input: object | string, more: Partial<StoredCall> = {}): StoredCall => ({
  ...{ tool, status: 'completed', title: '', input: typeof input === 'string' ? input : JSON.stringify(input) },
  ...more,
})

describe('what a tool call wrote', () => {
  test('reads the lines of an edit from its diff, without the heads of files and indentation', () => {
    const diff = '--- /workspace/a.ts\n+++ /workspace/a.ts\n@@ -1,2 +1,3 @@\n one\n-  two\n+  2\n+--x\n'
    expect(fileWritesOf(call('edit', { filePath: '/workspace/src/a.ts' }, { diff }))).toEqual([
      { path: 'src/a.ts', kind: 'edit', removed: ['two'], added: ['2', '--x'] },
    ])
  })

  test('reads each file of a patch, also a moved and a deleted one', () => {
    const patchText = [
      '*** Begin Patch',
      ...['*** Add File: new.ts', '+one', '+two', '*** Update File: /workspace/a.ts', '*** Move to: b.ts', '@@ f'],
      ...[' same', '-old', '+new', '*** Delete File: c.ts', '*** End Patch'],
    ].join('\n')
    expect(fileWritesOf(call('apply_patch', { patchText }))).toEqual([
      { path: 'new.ts', kind: 'whole', removed: [], added: ['one', 'two'] },
      { path: 'b.ts', kind: 'edit', removed: ['old'], added: ['new'] },
      { path: 'c.ts', kind: 'whole', removed: [], added: [] },
    ])
  })

  test('a whole file has no line after its last line end', () => {
    expect(fileWritesOf(call('write', { filePath: './a.ts', content: 'one\n\ntwo\n' }))).toEqual([
      { path: 'a.ts', kind: 'whole', removed: [], added: ['one', '', 'two'] },
    ])
  })

  test('a call that was stored in part names its file and claims no line', () => {
    const long = JSON.stringify({ filePath: '/workspace/"a" b.ts', content: 'x'.repeat(100) }).slice(0, 60)
    expect(fileWritesOf(call('write', `${long}\n… cut here`))).toEqual([
      { path: '"a" b.ts', kind: 'cut', removed: [], added: [] },
    ])
    const diff = '@@ -1 +1 @@\n+whole line\n+half a li\n… cut here'
    expect(fileWritesOf(call('edit', { filePath: 'a.ts' }, { diff }))).toMatchObject([
      { kind: 'cut', added: ['whole line'] },
    ])
    expect(fileWritesOf(call('edit', { filePath: 'a.ts' }))).toMatchObject([{ kind: 'cut' }])
  })

  test.each([
    ['a failed call', call('write', { filePath: 'a.ts', content: 'x' }, { status: 'error' })],
    ['a running call', call('write', { filePath: 'a.ts', content: 'x' }, { status: 'running' })],
    ['a command', call('bash', { command: 'echo x > a.ts' })],
    ['an input without a path', call('write', { content: 'x' })],
    ['an input that is no JSON', call('write', '{')],
  ])('%s wrote nothing', (_, given) => {
    expect(fileWritesOf(given)).toEqual([])
  })
})
