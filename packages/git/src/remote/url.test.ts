import { describe, expect, test } from 'bun:test'
import { closedNetwork } from './addresses.ts'
import { judgeRepositoryUrl } from './url.ts'

const publicly = async () => ['140.82.121.4', '2606:50c0:8000::153']
const judge = (url: string, allowPrivate = false, resolve: (host: string) => Promise<string[]> = publicly) =>
  judgeRepositoryUrl(url, { allowPrivate }, resolve)

describe('allowed repository URLs', () => {
  test.each([
    ['https://github.com/a/b', 'https://github.com/a/b', 'https'],
    ['https://github.com/a/b.git', 'https://github.com/a/b.git', 'https'],
    ['HTTPS://GitHub.COM/a/b/', 'https://github.com/a/b', 'https'],
    ['https://git.example.com:8443/a%20b/c', 'https://git.example.com:8443/a%20b/c', 'https'],
    ['https://github.com./a/b', 'https://github.com/a/b', 'https'],
    ['ssh://git@github.com/a/b', 'ssh://git@github.com/a/b', 'ssh'],
    ['ssh://git@github.com:2222/a/b.git', 'ssh://git@github.com:2222/a/b.git', 'ssh'],
    ['git@github.com:a/b.git', 'ssh://git@github.com/a/b.git', 'ssh'],
    ['github.com:a/b.git', 'ssh://github.com/a/b.git', 'ssh'],
    ['git+ssh://git@github.com/a/b', 'ssh://git@github.com/a/b', 'ssh'],
    ['https://140.82.121.4/a/b', 'https://140.82.121.4/a/b', 'https'],
  ])('allows %s', async (url, normal, protocol) => {
    const verdict = await judge(url)
    expect(verdict).toMatchObject({ kind: 'allowed', url: normal, allowProtocols: [protocol] })
    if (verdict.kind === 'allowed' && !normal.includes('140.82')) expect(verdict.pin).toEqual(await publicly())
  })

  test.each([
    ['http://127.0.0.1:3000/a/b', 'http://127.0.0.1:3000/a/b', 'http'],
    ['http://localhost/a', 'http://localhost/a', 'http'],
    ['https://git.internal/a', 'https://git.internal/a', 'https'],
    ['file:///srv/git/a.git', 'file:///srv/git/a.git', 'file'],
    ['/srv/git/my repo.git', 'file:///srv/git/my%20repo.git', 'file'],
    ['ssh://git@10.0.0.5/a', 'ssh://git@10.0.0.5/a', 'ssh'],
  ])('allows %s only where private hosts are allowed', async (url, normal, protocol) => {
    expect(await judge(url, true)).toEqual({ kind: 'allowed', url: normal, pin: [], allowProtocols: [protocol] })
    expect((await judge(url)).kind).toBe('refused')
  })

  test('names the setting of the operator for repositories by path', async () => {
    const reason = expect.stringContaining('SVC_FILE_REPOSITORY_ROOTS')
    expect(await judge('/srv/git/a.git')).toMatchObject({ kind: 'refused', reason })
    expect(await judge('http://git.example.com/a')).not.toMatchObject({ reason })
  })
})

describe('refused repository URLs', () => {
  test.each([
    '',
    ' ',
    '-',
    '--upload-pack=touch /tmp/x',
    '-oProxyCommand=x',
    'ext::sh -c id',
    'ext::sh%20-c%20id',
    'fd::17/x',
    'file::/etc',
    'https::https://github.com/a/b',
    'git://github.com/a/b',
    'ftp://github.com/a/b',
    'rsync://github.com/a/b',
    'svn://github.com/a/b',
    'gopher://github.com/a/b',
    'dict://github.com/a/b',
    'data:text/plain,hello',
    'javascript:alert(1)',
    'bundle:///x',
    'codecommit::us-east-1://x',
    'https://user:pass@github.com/a/b',
    'https://token@github.com/a/b',
    'https://@github.com/a/b',
    'https://github.com@evil.test/a/b',
    'https://github.com:443@evil.test/a/b',
    'https://github.com\\@evil.test/a/b',
    'https://github.com/a/b\n',
    'https://github.com/a/\nb',
    'https://github.com/a/b\0',
    'https://github.com/a b',
    'https://github.com/\u202ea',
    'https://github.com/a\u2028b',
    'https://github.com/a/b?x=1',
    'https://github.com/a/b#main',
    'https://github.com/',
    'https://github.com',
    'https:///a/b',
    'https://',
    'https://github.com:0/a/b',
    'https://github.com:99999/a/b',
    'https://github.com/%00',
    'https://github.com/a%0ab',
    'https://github.com/a%2fb',
    'https://github.com/%2e%2e/b',
    'https://-evil.com/a',
    'ssh://-oProxyCommand=id/x',
    'ssh://-oProxyCommand=id@github.com/x',
    'ssh://git@-oProxyCommand=id/x',
    'ssh://git:secret@github.com/a',
    'ssh://github.com',
    'ssh://github.com/',
    'ssh://github.com/-x',
    'ssh://github.com:0/a',
    'ssh://github.com:70000/a',
    'ssh://git@github.com`id`/a',
    'ssh://git@$(id)/a',
    '-x@github.com:a',
    'git@-evil:a',
    'git@github.com:',
    'file://host/path',
    'file:path',
    'file:///',
    'file:///a/../b',
    '/',
    '/a/../../etc',
    'relative/path',
    './here',
    '../there',
    '~/repo',
    'C:\\repo',
    '\\\\server\\share',
    `https://github.com/${'a'.repeat(3000)}`,
  ])('refuses %j everywhere', async (url) => {
    for (const allowPrivate of [false, true]) {
      const verdict = await judge(url, allowPrivate)
      expect(verdict).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/\.$/) })
    }
  })
})

const privateHosts = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '0',
  '0.0.0.0',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0177.0.0.1',
  '017700000001',
  '127.0.0.1.',
  '127.255.255.254',
  '10.0.0.1',
  '10.255.255.255',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '192.168.255.255',
  '100.64.0.1',
  '100.127.255.255',
  '100.100.100.200',
  '169.254.169.254',
  '169.254.0.1',
  '2852039166',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '168.63.129.16',
  '192.0.0.1',
  '192.0.2.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '192.88.99.1',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::ffff:10.0.0.1]',
  '[::ffff:169.254.169.254]',
  '[::127.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::a9fe:a9fe]',
  '[64:ff9b:1::1]',
  '[2002:7f00:1::]',
  '[2002:a00:1::1]',
  '[2002:c0a8:101::1]',
  '[2001:0:7f00:1::]',
  '[2001::80ff:fffe]',
  '[fc00::1]',
  '[fd00::1]',
  '[fd00:ec2::254]',
  '[fdff:ffff::1]',
  '[fe80::1]',
  '[febf::1]',
  '[fec0::1]',
  '[ff02::1]',
  '[2001:db8::1]',
  '[100::1]',
  '[3fff::1]',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'foo.localhost',
  'printer.local',
  'metadata.google.internal',
  'git.corp',
  'host.lan',
  'intranet',
  'kubernetes',
  'db.home.arpa',
]

describe('private addresses in every spelling', () => {
  const forms = [
    (host: string) => `https://${host}/a/b`,
    (host: string) => `ssh://git@${host}/a/b`,
    (host: string) => `https://${host}:8443/a/b`,
    (host: string) => `git@${host}:a/b`,
  ]
  const cases = privateHosts.flatMap((host) => forms.map((form) => form(host)))

  test(`refuses ${cases.length} spellings without a name lookup`, async () => {
    const asked: string[] = []
    for (const url of cases) {
      const verdict = await judge(url, false, async (host) => {
        asked.push(host)
        return ['140.82.121.4']
      })
      expect({ url, kind: verdict.kind }).toEqual({ url, kind: 'refused' })
    }
    expect(asked).toEqual([])
  })

  test('refuses a name with one private address among public ones', async () => {
    for (const bad of ['127.0.0.1', '10.0.0.1', '::1', '::ffff:169.254.169.254', 'fd00::1', '64:ff9b::10.0.0.1']) {
      expect((await judge('https://rebind.example.com/a', false, async () => ['140.82.121.4', bad])).kind).toBe(
        'refused',
      )
    }
  })

  test('refuses a name without an address and says what to do', async () => {
    expect(await judge('https://typo.example.com/a', false, async () => [])).toMatchObject({ kind: 'refused' })
    const failing = async () => Promise.reject(new Error('ENOTFOUND'))
    expect(await judge('https://typo.example.com/a', false, failing)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('spelling'),
    })
  })

  test('treats public addresses as public', () => {
    for (const address of [
      '1.1.1.1',
      '140.82.121.4',
      '172.15.255.255',
      '172.32.0.1',
      '100.63.255.255',
      '100.128.0.1',
      '192.167.1.1',
      '2606:4700::1',
      '64:ff9b::8.8.8.8',
      '::ffff:8.8.8.8',
      '2002:808:808::1',
    ]) {
      expect({ address, what: closedNetwork(address) }).toEqual({ address, what: null })
    }
  })
})
