// `npm run test:kubernetes` tests the kubernetes driver, sessions, apps and checks on it, and the chart, with a real cluster: the one that
// KUBECONFIG names (whose nodes have the images that `-- --images FOLDER` writes), or one node that it makes itself from Go modules and Debian's packages.
// `npm test` skips and counts these tests.
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import { findBun } from './bun.mjs'
import { ensureBuilt } from './build.mjs'
import { aside, findProgram, main, root, step } from './console.mjs'
import { unpackDebianPackages } from './debian-packages.mjs'
import { buildGoProgram, go } from './go-programs.mjs'
import { ensureInstalled } from './install.mjs'
import { ensureMachine } from './machine.mjs'

/** test/kubernetes/cluster.ts looks here. Not in node_modules, which every change of the packages makes anew. */
const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'svc-test-kubernetes')
const versions = { kubernetes: 'v1.34.4', etcd: 'v3.6.4', agents: 'v0.5.6', helm: 'v3.21.4' }
const debian = ['containerd', 'runc', 'containernetworking-plugins', 'iptables', 'libip6tc2', 'libnftnl11']

await main(async () => {
  await ensureInstalled()
  await ensureMachine()
  await ensureBuilt()
  const [option, images] = process.argv.slice(2)
  if (option === '--images')
    return spawnSync(findBun(), ['test/kubernetes/images.ts', images], { cwd: root, stdio: 'inherit' }).status ?? 1
  const { KUBECONFIG: given, ...env } = process.env
  if (given === undefined) await ensureCluster()
  else env.SVC_TEST_KUBECONFIG = given
  env.SVC_TEST_KUBERNETES = '1'
  const folders = ['./packages/link', './packages/sandbox/src/kubernetes', './test/kubernetes']
  const args = ['test', '--timeout=300000', ...folders, './test/chart.test.ts']
  return spawnSync(findBun(), args, { cwd: root, stdio: 'inherit', env }).status ?? 1
})

async function ensureCluster() {
  mkdirSync(folder, { recursive: true })
  if (!existsSync(join(folder, 'packages'))) await step('Unpacking a container runtime', unpack)
  const lacks = (...names) => names.some((name) => !existsSync(join(folder, name)))
  if (!lacks('kube', 'agent-sandbox-controller', 'crds', 'helm')) return
  if (findProgram('go') === null)
    throw new Error('A cluster is built with Go, which is not installed. Or set KUBECONFIG.')
  if (lacks('kube')) await step('Building a Kubernetes node (once, about 15 minutes of processor time)', buildNode)
  if (lacks('agent-sandbox-controller', 'crds')) await step('Building the agent-sandbox controller (once)', buildAgents)
  if (lacks('helm')) await step('Building Helm (once, about 3 minutes of processor time)', buildHelm)
}

function unpack() {
  return aside(tmpdir(), async (dir) => {
    const files = await unpackDebianPackages(debian, dir)
    cpSync(files, join(folder, 'packages'), { recursive: true, verbatimSymlinks: true })
  })
}

/** The module of Kubernetes replaces its parts by folders of its repository; the proxy has them as modules of their own. */
function buildNode() {
  return aside(tmpdir(), async (dir) => {
    copyFileSync(join(root, 'test/kubernetes/program/main.go'), join(dir, 'main.go'))
    writeFileSync(join(dir, 'go.mod'), 'module svc.test/kube\n')
    const answer = await go(['mod', 'download', '-json', `k8s.io/kubernetes@${versions.kubernetes}`], dir)
    const original = readFileSync(/"GoMod": "([^"]+)"/.exec(answer)[1], 'utf8')
    const part = versions.kubernetes.replace('v1.', 'v0.')
    const replaced = [...original.matchAll(/^\s*(k8s\.io\/[a-z-]+) => \.\/staging/gm)].map(([, name]) => name)
    const lines = [
      'module svc.test/kube',
      ...(original.match(/^(go|godebug) .*$/gm) ?? []),
      `require k8s.io/kubernetes ${versions.kubernetes}`,
      `require go.etcd.io/etcd/server/v3 ${versions.etcd}`,
      ...replaced
        .filter((name) => !/\/(sample-|code-generator)/.test(name))
        .map((name) => `replace ${name} => ${name} ${part}`),
    ]
    writeFileSync(join(dir, 'go.mod'), `${lines.join('\n')}\n`)
    await go(['mod', 'tidy'], dir)
    const version = `-X k8s.io/component-base/version.gitVersion=${versions.kubernetes}`
    await go(['build', '-trimpath', '-ldflags', `-s -w ${version}`, '-o', join(folder, 'kube'), '.'], dir)
  })
}

function buildHelm() {
  const [module, version] = ['helm.sh/helm/v3', versions.helm]
  const flags = `-X ${module}/internal/version.version=${version}`
  return buildGoProgram({ module, command: 'cmd/helm', version, flags, file: join(folder, 'helm') })
}

function buildAgents() {
  return aside(tmpdir(), async (dir) => {
    const name = 'sigs.k8s.io/agent-sandbox'
    writeFileSync(join(dir, 'go.mod'), 'module svc.test/agents\n')
    await go(['get', `${name}/cmd/agent-sandbox-controller@${versions.agents}`], dir)
    await go(
      ['build', '-trimpath', '-o', join(folder, 'agent-sandbox-controller'), `${name}/cmd/agent-sandbox-controller`],
      dir,
    )
    const answer = await go(['list', '-m', '-f', '{{.Dir}}', name], dir)
    mkdirSync(join(folder, 'crds'), { recursive: true })
    const resources = join(answer.trim().split('\n').at(-1), 'k8s/crds')
    for (const file of readdirSync(resources)) {
      copyFileSync(join(resources, file), join(folder, 'crds', file))
      // Files of the module cache are read-only.
      chmodSync(join(folder, 'crds', file), 0o644)
    }
  })
}
