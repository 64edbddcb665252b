/** Edits one text file. The edit becomes a change request; the branch itself does not change. */
import { Link, useBlocker, useNavigate } from '@tanstack/react-router'
import { useMemo, useRef, useState } from 'react'
import { ApiError } from '../../api.ts'
import { SendForm, useSend } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { paths } from '../../paths.ts'
import { buttonClass, fieldClass, Input, TextArea, useFields } from '../../ui/form.tsx'
import { Card, Notice } from '../../ui/layout.tsx'
import { visible, visibleName } from '../../ui/sanitizing-jsx/visible.ts'
import { fieldText, withEndingsOf } from './line-endings.ts'
import type { FileReply } from './queries.ts'

/** As the service does. */
const bytesMax = 512 * 1024

export default function EditFile({ file: given, at }: { file: FileReply; at: string }) {
  // The edit belongs to the file that it started from, also when a newer one is read meanwhile.
  const [file] = useState(given)
  const { project_id: projectId, slug } = useProject()
  const navigate = useNavigate()
  const isSent = useRef(false)
  const shown = useMemo(() => fieldText(file.content), [file])
  const { values, field } = useFields({ text: shown, title: `Edit ${file.path}`.slice(0, 200), description: '' })
  const isChanged = values.text !== shown
  const mayLeave = () => isSent.current || !isChanged
  useBlocker({
    shouldBlockFn: () => !mayLeave() && !confirm('Discard your edit? It is not proposed yet.'),
    enableBeforeUnload: () => !mayLeave(),
  })
  const propose = useSend('POST', '/v1/projects/{projectId}/file', {
    path: { projectId },
    once: true,
    onSuccess: ({ number }) => {
      isSent.current = true
      return navigate({ to: paths.changeRequest, params: { project: slug, number: String(number) }, search: {} })
    },
    refetch: [['project', projectId, 'change-requests']],
  })
  const content = withEndingsOf(file.content, values.text)
  return (
    <Card
      title={<span className="font-normal text-dim">Edit {visibleName(file.path)}</span>}
      aside={
        <Link
          to={paths.files}
          params={{ project: slug }}
          search={{ ref: at, path: file.path }}
          className={buttonClass('quiet')}
        >
          Cancel
        </Link>
      }
    >
      <SendForm
        of={propose}
        submit="Propose change"
        refusal={refusalOf({ isChanged, content, title: values.title })}
        extra={<Into branch={at} />}
        onSubmit={() =>
          propose.mutate({
            ...{ ref: at, path: file.path, blob_sha: file.blob_sha, content },
            ...{ title: values.title, description: values.description },
          })
        }
      >
        <textarea
          aria-label={`Content of ${visibleName(file.path)}`}
          className={`${fieldClass} flex-1 basis-full resize-y font-mono text-sm leading-5 whitespace-pre`}
          rows={Math.min(40, Math.max(16, shown.split('\n').length + 4))}
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          value={values.text}
          onChange={({ target }) => field('text').onChange(target.value)}
        />
        {visible(shown) !== shown && (
          <Notice tone="warn" title="This file has hidden characters">
            The editor does not show them, but keeps them. The view of the file shows each as a mark.
          </Notice>
        )}
        <Input label="Title" maxLength={256} {...field('title')} wide />
        <TextArea label="Description (Markdown)" rows={2} {...field('description')} wide />
      </SendForm>
      {propose.error instanceof ApiError && propose.error.code === 'conflict' && (
        <ChangedSince project={slug} at={at} path={file.path} />
      )}
    </Card>
  )
}

function Into({ branch }: { branch: string }) {
  return (
    <p className="min-w-0 flex-1 basis-60 text-sm text-dim">
      Opens a change request into {visibleName(branch)}. The branch changes when it is merged.
    </p>
  )
}

function refusalOf({ isChanged, content, title }: { isChanged: boolean; content: string; title: string }) {
  if (!isChanged) return 'Nothing is changed yet'
  if (title.trim() === '') return 'Enter a title'
  if (content.length > bytesMax || new TextEncoder().encode(content).length > bytesMax)
    return 'The file is larger than 512 KiB. Commit it from a clone.'
  return null
}

/** In another tab, so that the edit stays. */
function ChangedSince({ project, at, path }: { project: string; at: string; path: string }) {
  return (
    <div className="px-4 pb-4">
      <Notice
        tone="neutral"
        title="Your edit is still here"
        action={
          <Link
            to={paths.files}
            params={{ project }}
            search={{ ref: at, path }}
            target="_blank"
            className={buttonClass('quiet')}
          >
            Open the current file
          </Link>
        }
      >
        Compare it with the file as it is now, then apply your edit there.
      </Notice>
    </div>
  )
}
