import { resolve } from 'node:path'
import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'
import { askServerProgram } from '../../self-host/ask-program.ts'
import { green } from '../../terminal/output.ts'

/** It copies some hundred megabytes. */
const imageMs = 600_000

/** As engines and registries accept it: a registry, a path and a tag. */
const imageName =
  /^(?=.{1,255}$)([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:\d{1,5})?\/)?[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*(:\w[\w.-]{0,127})?$/

interface Written {
  file: string
  name: string
}

export const image = command({
  summary:
    'Write the image of servers and sandboxes, for Docker or a Kubernetes cluster, from the programs of this machine',
  about: [
    'The archive (OCI) needs no registry: load it with docker load, import it on each node of a cluster with ctr -n k8s.io images import, or push it to a registry with skopeo. deploy/compose runs a server from it. The chart in deploy/chart runs servers and sandboxes from it; a server elsewhere needs its name in SVC_KUBERNETES_IMAGE. Write it again after an upgrade, under a new name.',
  ],
  scope: 'nothing',
  flags: {
    output: { kind: 'text', summary: 'File to write', value: 'file' },
    name: { kind: 'text', summary: 'Name of the image', value: 'image' },
  },
  examples: [
    'svc self-host image --output svc-image.tar',
    'svc self-host image --output svc-image.tar --name registry.example/svc:0.8.0',
  ],
  async run(ctx, { flags }) {
    if (flags.output === undefined)
      throw new UsageError('--output is missing', { next: ['svc self-host image --output svc-image.tar'] })
    if (flags.name !== undefined && !imageName.test(flags.name))
      throw new UsageError(`No image can have the name ${JSON.stringify(flags.name)}`, {
        hint: 'A name has lower-case letters, digits, dots, dashes, underscores and slashes, perhaps a registry with its port in front, and a tag after a colon.',
        next: ['svc self-host image --output svc-image.tar --name registry.example/svc:0.8.0'],
      })
    const more = [resolve(flags.output), ...(flags.name === undefined ? [] : [flags.name])]
    const written = await askServerProgram<Written>(ctx, '--sandbox-image', {
      ...{ ms: imageMs, more },
      otherwise: 'The image could not be written.',
    })
    if (ctx.out.json) return ctx.out.document(written)
    ctx.out.line(green('✓ '), `Wrote ${written.name} to ${written.file}`)
    ctx.out.note(`For Docker: docker load --input ${written.file}`)
    ctx.out.note(`On each node of a cluster: ctr -n k8s.io images import ${written.file}`)
  },
})
