import { useQuery } from '@tanstack/react-query'
import { Answer } from '../../components/answer.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { channels } from '../../queries.ts'
import { Notice } from '../../ui/notice.tsx'
import { ChannelCard } from './channel.tsx'
import { ConnectChannel } from './connect.tsx'

/** A chat workspace at the project: what is connected and how it goes, and how to connect one. */
export function ChannelsPage() {
  const { project_id: projectId } = useProject()
  const found = useQuery(channels(projectId))
  return (
    <div className="flex flex-col gap-6">
      <h1 className="text-xl font-semibold">Channels</h1>
      <Answer of={found} what="channels">
        {({ channels: all, errors, setup }) => (
          <>
            {errors.map((issue) => (
              <Notice
                key={`${issue.path} ${issue.message}`}
                tone={issue.severity === 'error' ? 'bad' : 'warn'}
                title={`svc.toml: ${issue.path} ${issue.message}`}
              />
            ))}
            {all.map((channel) => (
              <ChannelCard key={channel.channel_id} projectId={projectId} channel={channel} />
            ))}
            {setup.map((each) => (
              <ConnectChannel key={each.platform} projectId={projectId} setup={each} isFirst={all.length === 0} />
            ))}
          </>
        )}
      </Answer>
    </div>
  )
}
