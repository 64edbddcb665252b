import type { Duplex } from 'node:stream'

/** The kinds of streams, by their destination. */
export const streamKinds = {
  /** From the server: the daemon's socket. */
  daemon: 'daemon',
  /** From the server: the identity of a blank sandbox, once. */
  boot: 'boot',
  /** From the server: what the sandbox knows of its control groups. */
  status: 'status',
  /** From the sandbox: the API, the git gateway and the model gateway. */
  relay: 'relay',
  /** From the sandbox: the egress proxy. */
  egress: 'egress',
} as const

/** The identity that a blank sandbox receives. */
export interface BootMessage {
  env: Record<string, string>
  /** Arguments of PID 1. */
  args: string[]
  /** Modes that these folders get before anything runs in them. */
  modes?: Record<string, number>
  /** Filters of system calls by architecture, in base64. */
  filters?: Record<string, string>
  /** Which ways back to the server the sandbox has. */
  relays: ('relay' | 'egress')[]
}

export interface SandboxStatus {
  /** Whether it has its identity. */
  isBooted: boolean
  /** Processes that the kernel killed for want of memory. */
  memoryKills: number
}

const messageBytesMax = 2 * 1024 * 1024

/** Reads the other end's half. Not by iteration, which would end this half as well. */
export function readMessage(stream: Duplex): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > messageBytesMax) stream.destroy(new Error('A message of the link is too long.'))
      else chunks.push(chunk)
    })
    stream.once('end', () => {
      try {
        resolve(JSON.parse(Buffer.concat(chunks).toString('utf8')))
      } catch (error) {
        reject(error as Error)
      }
    })
    stream.once('error', reject)
    stream.once('close', () => reject(new Error('The connection to the sandbox ended before its answer.')))
  })
}
