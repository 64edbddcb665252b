/** Repositories that try to run a program of theirs or to reach an address of theirs. */
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import type { HostileRepository } from './repository.ts'

export interface Hostile {
  name: string
  make(repo: HostileRepository): Promise<void>
  /** Paths to request in addition to the usual ones. */
  paths?: string[]
  /** Part of the short run. */
  small?: true
  /** Ids that a push of the whole repository sends in addition to its branches. */
  alsoPush?: string[]
}

/** Every git setting that names a program. */
const evilConfig = (canary: string) => `[core]
\tfsmonitor = ${canary}
\thooksPath = .
\tpager = ${canary}
\teditor = ${canary}
\tsshCommand = ${canary}
\tgitProxy = ${canary}
\talternateRefsCommand = ${canary}
\taskPass = ${canary}
[diff]
\texternal = ${canary}
[diff "evil"]
\tcommand = ${canary}
\ttextconv = ${canary}
[filter "evil"]
\tclean = ${canary}
\tsmudge = ${canary}
\tprocess = ${canary}
\trequired = true
[merge "evil"]
\tdriver = ${canary} %O %A %B
\trecursive = evil
[gpg]
\tprogram = ${canary}
[credential]
\thelper = ${canary}
[uploadpack]
\tpackObjectsHook = ${canary}
[sequence]
\teditor = ${canary}
[include]
\tpath = evil.config
`

const evilAttributes = '* filter=evil diff=evil merge=evil text working-tree-encoding=UTF-16 ident export-subst\n'
const hooks = ['pre-receive', 'update', 'post-receive', 'post-update', 'reference-transaction', 'proc-receive']
const moreHooks = ['post-merge', 'pre-commit', 'post-checkout', 'push-to-checkout', 'pre-auto-gc', 'fsmonitor-watchman']

async function threeWayWith(repo: HostileRepository, files: Record<string, string>): Promise<void> {
  const side = (text: string) => repo.files({ ...files, 'shared.txt': `${text}\n`.repeat(3) + 'end\n' })
  await repo.threeWay(await side('base'), await side('ours'), await side('theirs'))
}

export const programs: Hostile[] = [
  {
    name: 'hooks of every name in the tree and in the git folder',
    async make(repo) {
      const script = `#!/bin/sh\n${repo.canary} "$0"\n`
      const named = Object.fromEntries([...hooks, ...moreHooks].map((hook) => [hook, script]))
      await repo.mainAndWork(await repo.files({ ...named, gitconfig: evilConfig(repo.canary) }))
      for (const hook of [...hooks, ...moreHooks]) {
        await repo.place(`hooks/${hook}`, script)
        await chmod(join(repo.dir, 'hooks', hook), 0o755)
      }
    },
  },
  {
    name: 'attributes that name filters, drivers and conversions, with the settings they need beside them',
    small: true,
    make: (repo) =>
      threeWayWith(repo, {
        '.gitattributes': evilAttributes,
        '.gitconfig': evilConfig(repo.canary),
        config: evilConfig(repo.canary),
        'evil.config': evilConfig(repo.canary),
        '.lfsconfig': `[lfs]\n\turl = ${repo.bait}\n[lfs "customtransfer.x"]\n\tpath = ${repo.canary}\n`,
      }),
  },
  {
    name: 'a git folder whose own settings name programs everywhere',
    async make(repo) {
      await threeWayWith(repo, { '.gitattributes': evilAttributes })
      await repo.place('evil.config', '')
      await repo.place('info/attributes', evilAttributes)
      await repo.place('config', `[core]\n\trepositoryformatversion = 0\n\tbare = true\n${evilConfig(repo.canary)}`)
    },
  },
  {
    name: 'submodules whose addresses and names are options, programs and paths out of the tree',
    async make(repo) {
      const gitmodules = [
        `[submodule "a"]\n\tpath = -x\n\turl = --upload-pack=${repo.canary}\n`,
        `[submodule "b"]\n\tpath = b\n\turl = ext::sh -c ${repo.canary}\n\tupdate = !${repo.canary}\n`,
        `[submodule "../../c"]\n\tpath = c\n\turl = ${repo.bait}/c\n`,
        `[submodule "d"]\n\tpath = d\n\turl = "${repo.bait}/d\\nhost=evil"\n\tfetchRecurseSubmodules = true\n`,
      ].join('')
      const blob = await repo.blob(gitmodules)
      const links = ['b', 'c', 'd'].map((name) => ({ mode: '160000', name, sha: '1'.repeat(40) }))
      await repo.mainAndWork(await repo.tree([{ mode: '100644', name: '.gitmodules', sha: blob }, ...links]))
    },
  },
  {
    name: 'submodules that both sides moved, at paths where repositories of the server could be',
    async make(repo) {
      const side = (digit: string) =>
        repo.tree(['module', 'objects', 'repo.git'].map((name) => ({ mode: '160000', name, sha: digit.repeat(40) })))
      await repo.threeWay(await side('1'), await side('2'), await side('3'))
    },
  },
  {
    name: '.gitmodules, .gitattributes, .gitignore and .mailmap that are links to files of the machine',
    paths: ['.gitattributes', '.mailmap', 'link'],
    async make(repo) {
      const sha = await repo.blob('/etc/passwd')
      const names = ['.gitattributes', '.gitignore', '.gitmodules', '.mailmap', 'link']
      await repo.mainAndWork(await repo.tree(names.map((name) => ({ mode: '120000', name, sha }))))
    },
  },
  {
    name: 'links named like attribute files, on the side that is merged into',
    async make(repo) {
      const sha = await repo.blob('/proc/self/environ')
      const side = async (text: string) =>
        repo.tree([
          { mode: '120000', name: '.mailmap', sha },
          { mode: '40000', name: 'sub', sha: await repo.tree([{ mode: '120000', name: '.gitattributes', sha }]) },
          { mode: '100644', name: 'text', sha: await repo.blob(`${text}\n`) },
        ])
      await repo.threeWay(await side('0'), await side('1'), await side('2'))
    },
  },
  {
    name: '.git in every spelling, as a file, a folder and a link',
    small: true,
    paths: ['.git', '.GIT/config', 'git~1'],
    async make(repo) {
      const config = await repo.tree([
        { mode: '100644', name: 'config', sha: await repo.blob(evilConfig(repo.canary)) },
      ])
      const link = await repo.blob('/')
      const entries = [
        { mode: '40000', name: '.GIT', sha: config },
        { mode: '40000', name: '.git', sha: config },
        { mode: '120000', name: '.gIt', sha: link },
        { mode: '100644', name: '.git ', sha: await repo.blob('gitdir: /\n') },
        { mode: '40000', name: '.g\u200cit', sha: config },
        { mode: '40000', name: 'git~1', sha: config },
      ]
      await repo.mainAndWork(await repo.tree(entries))
    },
  },
  {
    name: 'replaced objects, grafts and a shallow border in the git folder',
    small: true,
    alsoPush: ['refs/replace/*:refs/replace/*'],
    async make(repo) {
      const { main, work } = await repo.mainAndWork(await repo.files({ 'seen.txt': 'harmless\n' }))
      const other = await repo.commit({ tree: await repo.files({ 'unseen.txt': 'evil\n' }), parents: [main] })
      await repo.ref(`refs/replace/${work}`, other)
      await repo.place('info/grafts', `${work}\n`)
      await repo.place('shallow', `${work}\n`)
    },
  },
  {
    name: 'objects borrowed from the machine, and from an address, by the git folder',
    async make(repo) {
      await repo.mainAndWork(await repo.files({ a: '2\n' }))
      await repo.place('objects/info/alternates', '/etc\n/proc/self/root\n../../../../..\n')
      await repo.place('objects/info/http-alternates', `${repo.bait}/objects\n`)
    },
  },
  {
    name: 'bundles and packs offered at another address',
    async make(repo) {
      await repo.mainAndWork(await repo.files({ a: '2\n' }))
      const blob = await repo.git(['rev-parse', 'refs/heads/work:a'])
      const config = [
        '[core]\n\trepositoryformatversion = 0\n\tbare = true\n',
        '[uploadpack]\n\tadvertiseBundleURIs = true\n',
        `\tblobPackfileUri = ${blob} ${'2'.repeat(40)} ${repo.bait}/evil.pack\n`,
        `[bundle]\n\tversion = 1\n\tmode = all\n[bundle "evil"]\n\turi = ${repo.bait}/evil.bundle\n`,
      ]
      await repo.place('config', config.join(''))
    },
  },
  {
    name: 'signed commits and tags that would have a program look at them',
    async make(repo) {
      const signature = 'gpgsig -----BEGIN PGP SIGNATURE-----\n \n evil\n -----END PGP SIGNATURE-----\n'
      const main = await repo.commit({ tree: await repo.files({ a: '1\n' }), headers: signature })
      const headers = `${signature}mergetag object ${main}\n type commit\n tag evil\n tagger x <x> 0 +0000\n \n -----BEGIN PGP SIGNATURE-----\n`
      await repo.ref('refs/heads/main', main)
      await repo.ref(
        'refs/heads/work',
        await repo.commit({ tree: await repo.files({ a: '2\n' }), parents: [main], headers }),
      )
    },
  },
]
