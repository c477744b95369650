-- What remains for a while is the fence, expired, so that a drawn one that comes late is refused.
call('SET', key, fence .. struct.pack('>i8i8', 0, 0), 'PX', @slack@)
