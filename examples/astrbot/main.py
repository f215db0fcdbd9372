"""An AstrBot plugin: it remembers what is said, and gives AstrBot's model what Reverie remembers."""

from datetime import datetime, timezone

from astrbot.api import AstrBotConfig
from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.message_components import Reply
from astrbot.api.provider import LLMResponse, ProviderRequest
from astrbot.api.star import Context, Star
from reverie_memory import Middleware, Reverie, wish_of

RECALLED = ("group_recall", "friend_recall")
TURN = "reverie_turn"


def group_of(event: AstrMessageEvent) -> str:
    """On QQ as `reverie import` names it, so that an export of the chat continues here."""
    platform = "onebot" if event.get_platform_name() == "aiocqhttp" else event.get_platform_name()
    return f"{platform}-{event.get_group_id() or 'private-' + event.get_sender_id()}"


class ReverieMemory(Star):
    def __init__(self, context: Context, config: AstrBotConfig) -> None:
        super().__init__(context)
        self.memory = Middleware(Reverie(config["url"], config["token"]), context_timeout=config["context_timeout"])

    async def terminate(self) -> None:
        await self.memory.aclose()

    @filter.event_message_type(filter.EventMessageType.ALL, priority=10)
    async def said(self, event: AstrMessageEvent):
        group, text, message = group_of(event), event.get_message_str().strip(), event.message_obj
        raw = message.raw_message
        if isinstance(raw, dict) and raw.get("notice_type") in RECALLED:  # OneBot tells what was taken back
            at = datetime.fromtimestamp(raw["time"], timezone.utc)
            self.memory.remember({"id": str(raw["message_id"]), "deleted_at": at}, group=group)
            return
        if not text:
            return
        spoken_to = event.is_at_or_wake_command or text.startswith("/")
        if spoken_to and (answer := await self.memory.aprivacy(text, event.get_sender_id(), group=group)):
            if wish_of(text).what == "forget":  # AstrBot's own history of the chat has their words, too
                await self.context.conversation_manager.delete_conversations_by_user_id(event.unified_msg_origin)
            yield event.plain_result(answer)
            event.stop_event()
            return
        line = {
            "id": str(message.message_id),
            "author": event.get_sender_name() or event.get_sender_id(),
            "author_id": event.get_sender_id(),
            "text": text,
            "sent_at": datetime.fromtimestamp(message.timestamp, timezone.utc),
        }
        if replies := [c.id for c in event.get_messages() if isinstance(c, Reply)]:
            line["reply_to"] = str(replies[0])
        self.memory.remember(line, group=group)

    @filter.on_llm_request()
    async def asked(self, event: AstrMessageEvent, request: ProviderRequest) -> None:
        query, message_id = request.prompt or event.get_message_str(), str(event.message_obj.message_id)
        turn = await self.memory.aturn(query, group=group_of(event), message_id=message_id)
        event.set_extra(TURN, turn)
        if turn.system:
            request.system_prompt = f"{request.system_prompt}\n\n{turn.system}"

    @filter.on_llm_response()
    async def answered(self, event: AstrMessageEvent, response: LLMResponse) -> None:
        if response.role == "assistant" and (turn := event.get_extra(TURN)):
            turn.answered(response.completion_text)
