/** Files for a prompt: chosen, pasted, or dropped, and listed until the prompt is sent. */
import { attachmentBytesMax, attachmentCountMax, refuseAttachments } from '@svc/contract/schemas/attachments'
import { sizeText } from '@svc/contract/schemas/quotas'
import { type ClipboardEvent, type DragEvent, useRef, useState } from 'react'
import { ApiError } from '../../../api.ts'
import { Button } from '../../../ui/form.tsx'

interface Chosen {
  key: string
  file: File
}

type ChosenFiles = ReturnType<typeof useChosenFiles>

export function useChosenFiles() {
  const [files, setFiles] = useState<readonly Chosen[]>([])
  const [isDraggedOver, setDraggedOver] = useState(false)
  const add = (added: Iterable<File>) => {
    // Read at once: the browser empties the list of a field, and of a drop, and React may run the update later.
    const more = [...added].map((file) => ({ key: crypto.randomUUID(), file }))
    setFiles((before) => [...before, ...more])
  }
  return {
    files,
    isDraggedOver,
    /** Why one prompt cannot carry them. */
    refusal: refuseAttachments(files.map(({ file }) => ({ name: file.name, bytes: file.size })))?.message ?? null,
    add,
    remove: (key: string) => setFiles((before) => before.filter((each) => each.key !== key)),
    clear: () => setFiles([]),
    read: () => readFiles(files.map(({ file }) => file)),
    /** For the element that accepts pasted and dropped files. */
    target: {
      onPaste(event: ClipboardEvent) {
        const { files: pasted, types } = event.clipboardData
        // Office programs add an image of the text to the text.
        if (pasted.length === 0 || types.includes('text/html')) return
        event.preventDefault()
        add(pasted)
      },
      onDragOver(event: DragEvent) {
        if (!event.dataTransfer.types.includes('Files')) return
        event.preventDefault()
        setDraggedOver(true)
      },
      onDragLeave(event: DragEvent) {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setDraggedOver(false)
      },
      onDrop(event: DragEvent) {
        setDraggedOver(false)
        if (event.dataTransfer.files.length === 0) return
        event.preventDefault()
        add(event.dataTransfer.files)
      },
    },
  }
}

export function AttachButton({ chosen }: { chosen: ChosenFiles }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={({ target }) => {
          chosen.add(target.files ?? [])
          // Otherwise the same file could not be chosen again.
          target.value = ''
        }}
      />
      <Button
        title={`Up to ${attachmentCountMax} files of ${sizeText(attachmentBytesMax)} each. You can also paste or drop files.`}
        onClick={() => input.current?.click()}
      >
        Attach files
      </Button>
    </>
  )
}

export function ChosenList({ chosen }: { chosen: ChosenFiles }) {
  if (chosen.files.length === 0) return null
  return (
    <div className="flex w-full min-w-0 flex-col gap-1">
      <ul aria-label="Attachments" className="flex max-h-[30dvh] flex-wrap gap-2 overflow-y-auto">
        {chosen.files.map(({ key, file }) => (
          <li
            key={key}
            className="flex max-w-full items-center gap-2 rounded-md border border-line bg-raised pl-3 text-sm"
          >
            <span className="min-w-0 truncate">{file.name}</span>
            <span className="text-dim whitespace-nowrap">{sizeText(file.size)}</span>
            <Button kind="quiet" aria-label={`Remove ${file.name}`} onClick={() => chosen.remove(key)}>
              ✕
            </Button>
          </li>
        ))}
      </ul>
      {chosen.refusal !== null && (
        <p role="alert" className="text-sm text-bad">
          {chosen.refusal}
        </p>
      )}
    </div>
  )
}

/** In the form that a request sends. */
export async function readFiles(files: readonly File[]) {
  return files.length === 0 ? {} : { attachments: await Promise.all(files.map(readFile)) }
}

function readFile(file: File): Promise<{ name: string; content_base64: string }> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => {
      const url = String(reader.result)
      resolve({ name: file.name, content_base64: url.slice(url.indexOf(',') + 1) })
    }
    reader.onerror = () =>
      reject(
        new ApiError(0, {
          error: `Couldn't read ${file.name}.`,
          code: 'unreadable',
          hint: 'It changed, or it is a folder. Remove it and attach single files.',
        }),
      )
    reader.readAsDataURL(file)
  })
}
