/** A file system of a few MiB, for tests of a full disk. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export class SmallDisk {
  readonly path: string
  /** Takes the space that `fill` found. */
  readonly filler: string

  private constructor(path: string) {
    this.path = path
    this.filler = join(path, 'filler')
  }

  /** Makes the folder. `size` as mount(8) takes it, such as `4m`. Null, with a line that says so, where this user cannot mount. */
  static async mount(path: string, size: string, mode = 700): Promise<SmallDisk | null> {
    await mkdir(path, { recursive: true })
    const { exitCode } = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', `size=${size},mode=${mode}`, 'tmpfs', path])
    if (exitCode === 0) return new SmallDisk(path)
    console.log('not run: this user cannot mount a small file system')
    return null
  }

  /** Leaves no free block. */
  async fill(): Promise<void> {
    for (const bytes of [1024 ** 2, 4096]) {
      const block = new Uint8Array(bytes)
      for (;;) {
        const code = await writeFile(this.filler, block, { flag: 'a' }).catch(
          (error: NodeJS.ErrnoException) => error.code,
        )
        if (code === 'ENOSPC') break
        if (code !== undefined) throw new Error(`${this.filler} was not written: ${code}`)
      }
    }
  }

  unmount(): void {
    Bun.spawnSync(['umount', '--lazy', this.path])
  }
}
