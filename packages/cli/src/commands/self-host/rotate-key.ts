import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { bold, dim, green } from '../../terminal/output.ts'
import { askServerProgram } from '../../self-host/ask-program.ts'

/** A thousand projects take a second; starting the database first takes longer. */
const rotateMs = 600_000

interface Rotation {
  finished_earlier: boolean
  master_key_id: string
  previous_master_key_ids: string[]
  master_key_file: string
  projects: number
  moved: number
  servers: number
}

export const rotateKey = command({
  summary: 'Replace the master key, whether your server is running or not',
  about: [
    'Sessions and requests continue: a running server loads the new key at its next start. The old key then decrypts nothing in the database. After an interruption the server still starts; run the command again to finish.',
    "Run it on the server's machine with the server's settings: those of svc self-host env, or the same SVC_DATA_DIR, SVC_MASTER_KEY_FILE and DATABASE_URL.",
  ],
  scope: 'nothing',
  examples: ['svc self-host rotate-key', 'SVC_DATA_DIR=/srv/svc svc self-host rotate-key --json'],
  async run(ctx) {
    const { out } = ctx
    const rotation = await rotate(ctx)
    if (out.json) return out.document(rotation)
    const before = rotation.previous_master_key_ids.join(', ')
    out.line(
      green('✓ '),
      rotation.finished_earlier ? 'Finished the interrupted rotation of the master key: ' : 'Replaced the master key: ',
      dim(before),
      dim(' → '),
      bold(rotation.master_key_id),
    )
    const { projects, moved } = rotation
    out.fields([
      ['file', rotation.master_key_file],
      [
        'checked',
        `${projects} ${projects === 1 ? 'project' : 'projects'}${moved > 0 ? `, ${moved} moved below the root key` : ''}`,
      ],
      ['servers', rotation.servers === 0 ? 'none runs' : `${rotation.servers} running, which go on`],
    ])
    out.note(
      'Back up the new key file now, separately from the data. Copy it to every other machine that uses this database before a server restarts there.',
    )
    out.note(`Earlier backups of the database need ${before}: keep that key only with them.`)
  },
})

async function rotate(ctx: Context): Promise<Rotation> {
  return await askServerProgram<Rotation>(ctx, '--rotate-key', {
    ms: rotateMs,
    otherwise: 'The master key could not be replaced.',
  })
}
