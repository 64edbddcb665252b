/** Listens to sandboxes on a socket, and again where someone removes the socket below the running server. */
import { lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Deps } from '../deps.ts'
import type { Listener } from '../listen.ts'
import { pause } from '../pause.ts'

/** Between two looks for the socket. */
const lookMs = 5_000

type Answers = Parameters<Listener['answerWith']>

interface AfterRemoval {
  /** Makes the folder above that of the socket again. */
  makeFolder: () => Promise<void>
  /** The folder of the socket is another one, so sandboxes that have the removed one mounted are cut off. */
  onCutOff: () => Promise<void>
}

export class Relay {
  readonly #make: () => Listener
  readonly #log: Deps['log']
  /** Those before the newest have the connections of earlier sandboxes. */
  readonly #listeners: Listener[]
  readonly #closing = new AbortController()
  #answers: Answers | null = null

  constructor({ make, log }: { make: () => Listener; log: Deps['log'] }) {
    this.#make = make
    this.#log = log
    this.#listeners = [make()]
  }

  async onSocket(path: string, after: AfterRemoval): Promise<void> {
    await this.#listeners[0]!.onSocket(path)
    void this.#keep(path, after)
  }

  answerWith(...answers: Answers): void {
    this.#answers = answers
    this.#listeners[0]!.answerWith(...answers)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#listeners.map((listener) => listener.close()))
  }

  async #keep(path: string, { makeFolder, onCutOff }: AfterRemoval): Promise<void> {
    const { signal } = this.#closing
    let isReported = false
    let isCutOff = false
    for (;;) {
      await pause(lookMs, signal)
      if (signal.aborted) return
      try {
        if (await exists(path)) continue
        isCutOff ||= !(await exists(dirname(path)))
        await makeFolder()
        await this.#listenAgain(path)
        this.#log.warn(
          { path },
          'the socket for sandboxes was removed, as by a cleanup of temporary files; the server listens there again',
        )
        isReported = false
        if (isCutOff) void onCutOff()
        isCutOff = false
      } catch (error) {
        if (!isReported)
          this.#log.error({ err: error, path }, 'the socket for sandboxes is gone, and no sandbox starts; retrying')
        isReported = true
      }
    }
  }

  async #listenAgain(path: string): Promise<void> {
    const listener = this.#make()
    if (this.#answers !== null) listener.answerWith(...this.#answers)
    await listener.onSocket(path)
    this.#listeners.push(listener)
    if (this.#closing.signal.aborted) await listener.close()
  }
}

const exists = (path: string) =>
  lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
