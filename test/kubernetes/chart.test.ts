/**
 * The chart in a real cluster: three servers, whose sandboxes are pods, on one PostgreSQL, behind an entry that sends each
 * request to a random one. Without a cluster these tests are skipped and counted.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'

import { root, run, until } from '../e2e/harness.ts'
import { talkingModel } from '../e2e/talking-model.ts'
import { helm } from './cluster.ts'
import { host, image, Installation, namespace, previewDomain, sandboxNamespace } from './installation.ts'
import { nextImage, RollingDrill } from './rolling-drill.ts'

setDefaultTimeout(1_800_000)

/** In mid-turn while each server is replaced. A machine with more cores carries more. */
const agents = Number(process.env['SVC_TEST_AGENTS'] ?? 6)

const started = await Installation.start()
const isMissing = typeof started === 'string'
if (isMissing) console.log(`The chart is not tested: ${started}`)
const at = started as Installation
const model = talkingModel()

afterAll(async () => {
  if (!isMissing) await at.close()
  await model.close()
})

const script = (...lines: string[]) => ['Do this.', '', '```svc-script', ...lines, '```'].join('\n')
let values: Record<string, unknown> = {}
let project = ''
let session = ''

const inProject = <T>(method: string, path: string, body?: unknown) =>
  at.send<T>(method, `/v1/projects/${project}${path}`, body)

describe.skipIf(isMissing)('the chart', () => {
  test('helm lint has no complaint', async () => {
    const file = join(at.folder, 'lint.json')
    await Bun.write(file, JSON.stringify(at.values()))
    const ran = await run([helm, 'lint', '--strict', 'deploy/chart', '--values', file], { cwd: root })
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')])
  })

  test('helm says which values are missing', async () => {
    const ran = await run([helm, 'template', 'svc', 'deploy/chart', '--kube-version', '1.34'], { cwd: root })
    expect(ran.stderr).toMatch(/(publicUrl|ingressFrom|existingSecret) is required: /)
    const wrong = await run([helm, 'template', 'svc', 'deploy/chart', '--set', 'replica=3'], { cwd: root })
    expect(wrong.stderr).toContain("additional properties 'replica' not allowed")
  })

  test('three servers start at once on an empty database', async () => {
    const upstream = await at.cluster.expose(Number(new URL(model.url).port))
    values = {
      settings: {
        SVC_LLM_UPSTREAM_URL: `http://${upstream}/v1`,
        SVC_LLM_UPSTREAM_KEY: 'key',
        SVC_LLM_MODEL: 'm',
        SVC_WARM_SANDBOXES: '0',
      },
    }
    const notes = await at.helm('install', at.values(values))
    expect(notes).toContain('3 servers start in the namespace svc, and sandboxes run in svc-sandboxes.')
    await at.rolledOut()
    const ready = await at.send<{ sandbox: { driver: string; ready: boolean } }>('GET', '/v1/ready')
    expect(ready.sandbox).toMatchObject({ driver: 'kubernetes', ready: true })
  })

  test('the commands of the notes answer, and a server can write nothing but its volume', async () => {
    expect(await at.exec('svc-0', ['svc', 'self-host', 'owner-link'])).toContain(`http://${host}/sign-in#`)
    expect(await at.exec('svc-1', ['svc', 'self-host', 'doctor'])).toContain('Sessions can start here.')
    expect((await at.exec('svc-2', ['id', '--user'])).trim()).toBe('10001')
    await expect(at.exec('svc-2', ['touch', '/etc/changed'])).rejects.toThrow('Read-only file system')
  })

  test('a server may do in the namespace of the sandboxes what the chart says, and nothing elsewhere', async () => {
    const rules = await rulesOfServers(sandboxNamespace)
    const elsewhere = await rulesOfServers(namespace)
    const ofEveryone = new Set(elsewhere.map((rule) => JSON.stringify(rule)))
    expect(elsewhere.every(({ apiGroups }) => apiGroups.every((group) => group.startsWith('auth')))).toBe(true)
    expect(rules.filter((rule) => !ofEveryone.has(JSON.stringify(rule)))).toEqual([
      { verbs: ['create', 'get', 'list', 'watch', 'delete'], apiGroups: [''], resources: ['pods'] },
      { verbs: ['get'], apiGroups: [''], resources: ['pods/log'] },
      { verbs: ['create'], apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'] },
      {
        ...{ verbs: ['patch'], apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'] },
        resourceNames: ['svc-sandboxes'],
      },
    ])
  })

  test('only the entry reaches the servers, and only the servers reach PostgreSQL', async () => {
    const [server] = await at.servers()
    const database = await at.read<{ spec: { clusterIP: string } }>(
      `/api/v1/namespaces/${namespace}/services/postgresql`,
    )
    const { podIP } = server!.status
    const targets = { server: `${podIP}/8420`, peers: `${podIP}/8421`, database: `${database.spec.clusterIP}/5432` }
    expect(await reachedFrom('entry', targets)).toEqual(['server'])
    expect(await reachedFrom('default', targets)).toEqual([])
    expect(await reachedFrom(namespace, targets)).toEqual([])
  })

  test('a push over each server reaches the project', async () => {
    project = (await at.send<{ project_id: string }>('POST', '/v1/projects', { name: 'pods' })).project_id
    const tree = await mkdtemp(join(at.folder, 'tree-'))
    await at.git(tree, ['init', '--quiet', '--initial-branch=main'])
    await at.git(tree, ['commit', '--quiet', '--allow-empty', '-m', 'First'])
    await at.git(tree, ['push', '--quiet', at.gateway(project), 'main'])
    for (const { metadata, status } of await at.servers()) {
      const direct = await at.cluster.reach(`${status.podIP}:8420`)
      await Bun.write(join(tree, `${metadata.name}.txt`), metadata.name)
      await at.git(tree, ['add', '.'])
      await at.git(tree, ['commit', '--quiet', '-m', `By ${metadata.name}`])
      await at.git(tree, ['push', '--quiet', at.gateway(project, direct), `main:by-${metadata.name}`], direct)
    }
    const { branches } = await inProject<{ branches: { name: string }[] }>('GET', '/branches')
    expect(branches.map(({ name }) => name).toSorted()).toEqual(['by-svc-0', 'by-svc-1', 'by-svc-2', 'main'])
  })

  test('a session runs in a pod, works, pushes and serves a preview', async () => {
    const serve = `BUN_BE_BUN=1 setsid nohup /usr/local/bin/svc -e "Bun.serve({ port: 3000, hostname: '127.0.0.1', fetch: () => new Response('a page of the session') })" > /tmp/server.log 2>&1 &`
    const made = await inProject<{ session_id: string }>('POST', '/sessions', {
      initial_prompt: script(
        serve,
        'echo work > work.txt && git add work.txt && git commit -q -m Work && git push -q && echo pushed-$((10 + 2))',
      ),
    })
    session = made.session_id
    await until('the push', async () => {
      const { status, error } = await inProject<{ status: string; error: string | null }>('GET', `/sessions/${session}`)
      if (status === 'failed') throw new Error(error ?? '')
      return JSON.stringify(await inProject('GET', `/sessions/${session}/transcript`)).includes('pushed-12')
    })
    const { url } = await inProject<{ url: string }>('GET', `/sessions/${session}/preview?port=3000`)
    expect(new URL(url).hostname).toEndWith(`.${previewDomain}`)
    const entered = await at.browse(url)
    expect(entered.status).toBe(303)
    const page = await until('the page', async () => {
      const answer = await at.browse(new URL('/', url).href, entered.cookie)
      return answer.status === 200 ? answer.text : null
    })
    expect(page).toBe('a page of the session')
    expect((await at.browse('http://elsewhere.test/')).status).toBe(404)
  })

  test('its change request is merged, and main has the work', async () => {
    const cr = await inProject<{ cr_id: string; head_commit_sha: string }>('POST', '/change-requests', {
      ...{ title: 'Work', head_ref: session, session_id: session },
    })
    const merged = await inProject<{ change_request: { status: string } }>(
      ...(['POST', `/change-requests/${cr.cr_id}/merge`, { expected_head_sha: cr.head_commit_sha }] as const),
    )
    expect(merged.change_request.status).toBe('merged')
    const clone = join(at.folder, 'clone')
    await at.git(at.folder, ['clone', '--quiet', at.gateway(project), clone])
    expect(await Bun.file(join(clone, 'work.txt')).text()).toBe('work\n')
    await inProject('POST', `/sessions/${session}/stop`)
  })
})

describe.skipIf(isMissing)(`a rolling upgrade with ${agents} agents in mid-turn`, () => {
  const drill = new RollingDrill(at, model)

  test('the agents start to work', () => drill.begin(agents))

  test('all go on over an upgrade to another image', () =>
    drill.expectAllGoOnOver('an upgrade', async () => {
      await at.cluster.tagImage(image, nextImage)
      await at.helm('upgrade', at.values({ ...values, image: { tag: nextImage.split(':')[1] } }))
      return nextImage
    }))

  test('all go on over a restart by an annotation', () =>
    drill.expectAllGoOnOver('a restart', async () => {
      const more = { image: { tag: nextImage.split(':')[1] }, podAnnotations: { restarted: 'yes' } }
      await at.helm('upgrade', at.values({ ...values, ...more }))
      return nextImage
    }))

  test('every turn ends as if nothing had happened', async () => {
    await drill.expectEveryTurnEnds()
    await drill.end()
  })
})

interface Rule {
  verbs: string[]
  apiGroups: string[]
  resources: string[]
  resourceNames?: string[]
}

/** What `kubectl auth can-i --list` shows to the servers. */
async function rulesOfServers(where: string): Promise<Rule[]> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/svc/token`
  const reply = await at.cluster.api('POST', path, { spec: { expirationSeconds: 3600 } })
  const { status } = (await reply.json()) as { status: { token: string } }
  const review = { spec: { namespace: where } }
  const answer = await at.cluster.api(
    'POST',
    '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
    review,
    status.token,
  )
  return ((await answer.json()) as { status: { resourceRules: Rule[] } }).status.resourceRules
}

/** The targets that a pod in that namespace reaches. */
async function reachedFrom(where: string, targets: Record<string, string>): Promise<string[]> {
  const tries = Object.entries(targets).map(
    ([name, target]) => `timeout 3 bash -c "exec 3<>/dev/tcp/${target}" 2> /dev/null && echo reached-${name}`,
  )
  const pods = `/api/v1/namespaces/${where}/pods`
  await at.make(pods, {
    metadata: { name: 'tries' },
    spec: {
      restartPolicy: 'Never',
      containers: [{ name: 'tries', image, command: ['bash', '-c', [...tries, 'echo done'].join('\n')] }],
    },
  })
  const log = await until(`the pod in ${where} to end`, async () => {
    const text = await (await at.cluster.api('GET', `${pods}/tries/log`)).text()
    return text.includes('done\n') ? text : null
  })
  return [...log.matchAll(/^reached-(.*)$/gm)].map(([, name]) => name!)
}
