#!/bin/bash
# The node of the test cluster, as PID 1 of its own mount, process and network namespaces: nothing listens on an address of
# the machine, no setting of the machine changes, and the end of this process ends all of it. cluster.ts starts it in the
# cluster's folder and writes the configurations.
set -euo pipefail
node_address=$1 kube=$2 packages=$3 bun=$4 scripts=$5 group=$6
export PATH="$packages/usr/sbin:$packages/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin"
folder=$PWD

# Volumes that the kubelet mounts have to reach the containers. The outer namespace already keeps them from the machine.
mount --make-rshared /
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/containerd
mkdir -p /var/lib/cni && mount --bind "$folder/cni-state" /var/lib/cni
# The kubelet writes these at its start. They belong to the machine, so it gets files of its own instead.
own_setting() {
  printf '%s\n' "$2" > "$folder/settings-${1//\//-}"
  mount --bind "$folder/settings-${1//\//-}" "/proc/sys/$1"
}
own_setting vm/overcommit_memory 1
own_setting vm/panic_on_oom 0
own_setting kernel/panic 10
own_setting kernel/panic_on_oops 1
own_setting kernel/keys/root_maxkeys 1000000
own_setting kernel/keys/root_maxbytes 25000000

ip link set lo up
ip link add node0 type bridge
ip addr add "$node_address/24" dev node0
ip link set node0 up
ip route add default dev node0
echo 1 > /proc/sys/net/ipv4/ip_forward

# The kubelet's control groups are below one of its own.
for kind in /sys/fs/cgroup/*/; do mkdir -p "${kind}$group"; done
for file in cpus mems; do
  [ ! -e /sys/fs/cgroup/cpuset ] || cat "/sys/fs/cgroup/cpuset/cpuset.$file" > "/sys/fs/cgroup/cpuset/$group/cpuset.$file"
done

# A part that ends is started again, as by a service manager.
part() {
  local name=$1
  shift
  while :; do "$@" || true; sleep 1; done > "log/$name.log" 2>&1 < /dev/null &
}
# Debian's programs run with the libraries that came along; ours is static.
debian() { LD_LIBRARY_PATH="$packages/usr/lib/x86_64-linux-gnu:$packages/lib/x86_64-linux-gnu" "$@"; }

part etcd "$kube" etcd --data-dir etcd --unsafe-no-fsync --log-level warn \
  --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
  --listen-peer-urls http://127.0.0.1:2380 --initial-advertise-peer-urls http://127.0.0.1:2380 \
  --initial-cluster default=http://127.0.0.1:2380
part containerd debian containerd --config containerd.toml
part apiserver "$kube" kube-apiserver --etcd-servers http://127.0.0.1:2379 --bind-address 0.0.0.0 \
  --advertise-address "$node_address" --secure-port 6443 --tls-cert-file pki/api.crt --tls-private-key-file pki/api.key \
  --client-ca-file pki/ca.crt --token-auth-file pki/tokens.csv --service-account-key-file pki/accounts.key \
  --service-account-signing-key-file pki/accounts.key --service-account-issuer https://kubernetes.default.svc \
  --service-cluster-ip-range 10.96.0.0/16 --authorization-mode Node,RBAC --allow-privileged --cert-dir pki/made \
  --kubelet-client-certificate pki/client.crt --kubelet-client-key pki/client.key \
  --kubelet-certificate-authority pki/ca.crt --kubelet-preferred-address-types InternalIP --profiling=false
part door "$bun" "$scripts/door.ts" api.sock 127.0.0.1:6443
until "$bun" "$scripts/ready.ts"; do sleep 0.2; done
part controllers "$kube" kube-controller-manager --kubeconfig inside.kubeconfig --leader-elect=false --profiling=false \
  --service-account-private-key-file pki/accounts.key --root-ca-file pki/ca.crt --use-service-account-credentials=false
part scheduler "$kube" kube-scheduler --kubeconfig inside.kubeconfig --leader-elect=false --profiling=false
until debian ctr --address containerd.sock version > /dev/null 2>&1; do sleep 0.2; done
part kubelet "$kube" kubelet --config kubelet.yaml --kubeconfig inside.kubeconfig --root-dir "$folder/kubelet" \
  --cert-dir pki/kubelet --node-ip "$node_address" --hostname-override node-1
part network "$bun" "$scripts/network.ts" "$packages"
part names "$bun" "$scripts/names.ts" "$node_address"
# Its resources have to be there first.
agents() {
  until [ -e agents.yes ]; do sleep 0.2; done
  "$(dirname "$kube")/agent-sandbox-controller" --kubeconfig inside.kubeconfig --extensions --enable-webhook=false \
    --leader-elect=false
}
part agents agents
touch started
# The test holds the other end: with the test ends this process, and with it everything here.
cat > /dev/null
