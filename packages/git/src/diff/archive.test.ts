import { expect, test } from 'bun:test'
import { streamArchive } from './archive.ts'
import { makeRepo } from '../testing.ts'

test('archives a whole commit as a tar, and fails when it is too large', async () => {
  const repo = await makeRepo({ main: { 'a.txt': 'one\n', '.svc/Dockerfile': 'FROM x\n' } })
  try {
    const sha = Bun.spawnSync(['git', '-C', repo.dir, 'rev-parse', 'main']).stdout.toString().trim()
    const tar = await new Response(await streamArchive(repo, sha, { bytesMax: 1024 ** 2 })).bytes()
    const listed = Bun.spawnSync(['tar', '-t'], { stdin: tar }).stdout.toString().split('\n')
    expect(listed).toContain('.svc/Dockerfile')
    expect(listed).toContain('a.txt')
    const small = new Response(await streamArchive(repo, sha, { bytesMax: 100 })).bytes()
    await expect(small).rejects.toThrow('exceed the size limit')
  } finally {
    await repo.remove()
  }
})

test('archives the files as committed: attributes neither omit nor change any', async () => {
  const attributes = 'tests export-ignore\nversion.txt export-subst\n'
  const repo = await makeRepo({
    main: { '.gitattributes': attributes, 'tests/a.txt': 'a\n', 'version.txt': '$Format:%H$\n' },
  })
  try {
    const sha = Bun.spawnSync(['git', '-C', repo.dir, 'rev-parse', 'main']).stdout.toString().trim()
    const bare = { ...repo, dir: `${repo.dir}/.bare` }
    Bun.spawnSync(['git', 'clone', '-q', '--bare', repo.dir, bare.dir])
    const tar = await new Response(await streamArchive(bare, sha, { bytesMax: 1024 ** 2 })).bytes()
    expect(Bun.spawnSync(['tar', '-t'], { stdin: tar }).stdout.toString().split('\n')).toContain('tests/a.txt')
    expect(Bun.spawnSync(['tar', '-xO', 'version.txt'], { stdin: tar }).stdout.toString()).toBe('$Format:%H$\n')
  } finally {
    await repo.remove()
  }
})
