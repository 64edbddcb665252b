/** The configurations of the test cluster's programs. Every path is below one folder. */

export const nodeAddress = '10.91.0.1'
const podNetwork = '10.92.0.0/16'
export const pauseImage = 'svc.test/pause:1'

export const containerdConfig = (folder: string, packages: string) => `version = 2
root = "${folder}/containerd/root"
state = "${folder}/containerd/state"
disabled_plugins = [${['btrfs', 'zfs', 'devmapper', 'aufs'].map((name) => `"io.containerd.snapshotter.v1.${name}"`).join(', ')}]
[grpc]
  address = "${folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  # Without CAP_SYS_RESOURCE nobody may lower the score of a process.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  disable_apparmor = true
  tolerate_missing_hugetlb_controller = true
  disable_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${packages}/usr/lib/cni"
    conf_dir = "${folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "${packages}/usr/sbin/runc"
      SystemdCgroup = false
`

/** Each pod has a link of its own to the node, so that the node's rules see what pods send to one another. */
export const networkConfig = (folder: string) =>
  JSON.stringify({
    cniVersion: '0.4.0',
    name: 'svc',
    plugins: [
      {
        type: 'ptp',
        ipMasq: false,
        ipam: {
          type: 'host-local',
          dataDir: `${folder}/cni-state`,
          ranges: [[{ subnet: podNetwork }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
    ],
  })

/** JSON is YAML. */
export const kubeletConfig = (folder: string, controlGroup: string) =>
  JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: nodeAddress,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: false },
      x509: { clientCAFile: `${folder}/pki/ca.crt` },
    },
    authorization: { mode: 'AlwaysAllow' },
    tlsCertFile: `${folder}/pki/kubelet.crt`,
    tlsPrivateKeyFile: `${folder}/pki/kubelet.key`,
    containerRuntimeEndpoint: `unix://${folder}/containerd.sock`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${controlGroup}`,
    failSwapOn: false,
    failCgroupV1: false,
    makeIPTablesUtilChains: false,
    resolvConf: '',
    clusterDNS: [nodeAddress],
    clusterDomain: 'cluster.local',
    podLogsDir: `${folder}/pod-logs`,
    readOnlyPort: 0,
    podPidsLimit: 1024,
    imageMinimumGCAge: '24h',
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
  })

export const kubeconfig = (server: string, ca: string, token: string) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin', namespace: 'default' } }],
    'current-context': 'test',
  })

interface Certificate {
  name: string
  subject: string
  /** subjectAltName of openssl. */
  names?: string
}

export const certificates = (addresses: string[]): Certificate[] => [
  {
    name: 'api',
    subject: '/CN=kube-apiserver',
    names: [
      ...['127.0.0.1', nodeAddress, '10.96.0.1', ...addresses].map((address) => `IP:${address}`),
      ...['DNS:localhost', 'DNS:kubernetes.default.svc'],
    ].join(','),
  },
  { name: 'kubelet', subject: `/CN=${nodeAddress}`, names: `IP:${nodeAddress},IP:127.0.0.1` },
  { name: 'client', subject: '/O=system:masters/CN=apiserver-kubelet-client' },
]
